import {respond} from "../_shared/hook.mjs";

Deno.serve((request: Request) => respond(request, Deno.env.get("HOOK_SECRETS")));
