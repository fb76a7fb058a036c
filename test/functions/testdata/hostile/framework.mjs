// A function of Google's functions framework that does to each path what its
// name says.
import {gzipSync} from "node:zlib";

import functions from "@google-cloud/functions-framework";

const allow = '{"decision":"allow"}';

const acts = {
  "/as-html": (_, response) => response.send(allow),
  "/throws": () => {
    throw new Error("CANARY");
  },
  "/rejects": async () => {
    throw new Error("CANARY");
  },
  "/exits": () => process.exit(1),
  "/hangs": () => {},
  "/error-that-allows": (_, response) => response.status(500).send(allow),
  "/throttles": (_, response) => response.status(429).set("retry-after", "1").send(allow),
  "/says-nothing": (_, response) => response.status(204).end(),
  "/empty": (_, response) => response.end(),
  "/redirects": (_, response) => response.redirect(307, "/as-html"),
  "/redirects-to-a-get": (_, response) => response.redirect(303, "/as-html"),
  "/a-page": (_, response) => response.send("<html><body>CANARY</body></html>"),
  "/allows-twice": (_, response) => response.send(allow + allow),
  "/two-decisions": (_, response) => response.send('{"decision":"deny","decision":"allow"}'),
  "/shouts": (_, response) => response.send('{"decision":"ALLOW"}'),
  "/another-dialect": (_, response) => response.send('{"permissionDecision":"allow"}'),
  "/gzips": (_, response) => response.set("content-encoding", "gzip").send(gzipSync(allow)),
  "/too-much": (_, response) => response.send(allow + " ".repeat(1 << 20)),
  "/breaks-off": (_, response) => {
    response.writeHead(200, {"content-length": "100"});
    response.write(allow, () => response.destroy());
  },
  "/drips": (_, response) => {
    response.write('{"decision":');
    const drops = setInterval(() => response.write(" "), 50);
    response.on("close", () => clearInterval(drops));
  },
};

functions.http("hook", (request, response) => acts[request.path](request, response));
