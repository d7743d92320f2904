/**
 * How the pages call the gateway: Connect over the page's own origin, with the session's cookie, which scripts cannot
 * read, and the header that no other site's page can send along with it.
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

const asDashboard: Interceptor = (next) => (request) => {
  request.header.set("x-gateway-session", "1");
  return next(request);
};

export const transport = createConnectTransport({ baseUrl: "/", interceptors: [asDashboard] });

/** The header by which a session says with which of its account's keys it calls a model. */
export const keyHeader = "x-gateway-key";
