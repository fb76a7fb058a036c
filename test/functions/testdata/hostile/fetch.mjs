// What a function does to each path, as its name says, where platforms speak in
// the terms of fetch.
const allow = '{"decision":"allow"}';

// streamed sends the pieces and then breaks.
function streamed(...pieces) {
  return new Response(new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) {
        controller.error(new Error("CANARY"));
        return;
      }
      controller.enqueue(new TextEncoder().encode(piece));
    },
  }));
}

async function zipped() {
  const stream = new Blob([allow]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream, {encodeBody: "manual", headers: {"content-encoding": "gzip"}});
}

const acts = {
  "/as-text": () => new Response(allow),
  "/throws": () => {
    throw new Error("CANARY");
  },
  "/rejects": async () => {
    throw new Error("CANARY");
  },
  "/hangs": () => new Promise(() => {}),
  "/returns-nothing": () => undefined,
  "/error-that-allows": () => new Response(allow, {status: 503, headers: {"retry-after": "Wed, 01 Jan 2031 00:00:00 GMT"}}),
  "/redirects": () => new Response(null, {status: 308, headers: {location: "/as-text"}}),
  "/says-nothing": () => new Response(null, {status: 204}),
  "/empty": () => new Response(""),
  "/breaks-off": () => streamed('{"decision":', '"allow"'),
  "/breaks-off-after-a-whole-answer-and-more": () => streamed(allow, "{"),
  "/gzips": zipped,
  "/too-much": () => new Response(allow + " ".repeat(1 << 20)),
};

export function respond(request) {
  return acts[new URL(request.url).pathname]();
}
