// Calls an edge function as Netlify does.
globalThis.Netlify = {env: Deno.env};
const {default: handler} = await import("./edge-functions/hook.mjs");
Deno.serve(handler);
