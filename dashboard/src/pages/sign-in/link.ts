/**
 * The one-time link that opened the page. Its secret follows the `#` of the address and is removed from there at once,
 * so that it stays neither in the address bar nor in the history.
 */
import { skipToken, useQuery } from "@connectrpc/connect-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";

/**
 * useLink returns the link's secret, empty without a link, and its purpose. After the link has been used, it is not
 * queried again.
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
