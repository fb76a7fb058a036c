import {respond} from "./hook.mjs";

export default {fetch: respond};
