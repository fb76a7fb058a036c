import functions from "@google-cloud/functions-framework";

import {answer} from "./hook.mjs";

functions.http("hook", async (request, response) => {
  if (request.method !== "POST" || !request.rawBody) {
    response.status(405).type("text").send("use POST\n");
    return;
  }
  const {status, text} = await answer((name) => request.get(name), request.rawBody, process.env.HOOK_SECRETS);
  response.status(status).type("json").send(text);
});
