import {respond} from "./hook.mjs";

export default {
  fetch(request, env) {
    return respond(request, env.HOOK_SECRETS);
  },
};
