// A server on Deno that does to each path what its name says.
import {respond} from "./fetch.mjs";

Deno.serve((request) => {
  if (new URL(request.url).pathname === "/exits") {
    Deno.exit(1);
  }
  return respond(request);
});
