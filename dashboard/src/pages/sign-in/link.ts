/**
 * The one-time link that opened the page. Its secret stands behind the `#` of the address; it is taken from there at
 * once, so that it stays neither in the address bar nor in what the browser remembers.
 */
import { skipToken, useQuery } from "@connectrpc/connect-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";

/**
 * Returns the secret of the link, which is empty where the page was opened without one, and what it is for. Once it was
 * used nothing more is asked about it.
 */
export function useLink() {
  const { hash } = useLocation();
  const [secret, setSecret] = useState(() => location.hash.slice(1));
  const [used, setUsed] = useState(false);
  useEffect(() => {
    if (!hash) return;
    setSecret(hash);
    history.replaceState(history.state, "", location.pathname + location.search);
  }, [hash]);
  const asked = secret && !used ? { link: secret } : skipToken;
  const description = useQuery(SessionService.method.describeLink, asked, {
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return { secret, description, used, setUsed };
}
