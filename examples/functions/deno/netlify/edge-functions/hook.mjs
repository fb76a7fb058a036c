import {respond} from "../hook.mjs";

export default (request) => respond(request, Netlify.env.get("HOOK_SECRETS"));

export const config = {path: "/hook", method: "POST", onError: "fail"};
