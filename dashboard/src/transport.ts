/**
 * Calls the gateway by Connect over the page's own origin, with the session's cookie, which scripts cannot read, and a
 * header that no other site's page can send.
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

const asDashboard: Interceptor = (next) => (request) => {
  request.header.set("x-gateway-session", "1");
  return next(request);
};

export const transport = createConnectTransport({ baseUrl: "/", interceptors: [asDashboard] });

/** keyHeader names the account's key that a session's model call uses. */
export const keyHeader = "x-gateway-key";
