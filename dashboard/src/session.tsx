/**
 * The signed-in user, and what the gateway reports about itself. Queried when the page opens or is looked at again, after signing in or
 * out, and after a call that is refused because the session has ended. Then the user is asked to sign in again, and what was typed
 * stays, for that user alone.
 */
import { createQueryOptions } from "@connectrpc/connect-query";
import { hashKey, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { createContext, type PropsWithChildren, use, useEffect, useMemo, useState } from "react";
import type { User } from "../../gen/modelgateway/v1/operator_pb.ts";
import {
  type Addresses,
  type GetSessionResponse,
  Registration,
  SessionService,
  type Unit,
} from "../../gen/modelgateway/v1/sessions_pb.ts";
import { transport } from "./transport.ts";

export interface Session {
  /** user is undefined if nobody is signed in. It stays when the session ends by itself. */
  readonly user: User | undefined;
  /** hasEnded is whether the user's session has ended, though the user did not sign out. */
  readonly hasEnded: boolean;
  readonly registration: Registration;
  readonly awaitsSetUp: boolean;
  readonly unit: Pick<Unit, "code" | "symbol">;
  readonly addresses: Pick<Addresses, "root" | "direct" | "cdn" | "cn">;
  /** hasDocs is whether the gateway serves its documentation. */
  readonly hasDocs: boolean;
  /** refresh queries the session again, and drops the previous user's data. */
  readonly refresh: () => Promise<void>;
}

const Current = createContext<Session | undefined>(undefined);

/** sessionQuery is the query, for components that need its answer or invalidate it. */
export const sessionQuery = createQueryOptions(SessionService.method.getSession, {}, { transport });

export function SessionProvider({ children }: PropsWithChildren) {
  const client = useQueryClient();
  // Another tab may have signed out, or signed somebody else in: tabs share the cookie.
  const options = { staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: "always" } as const;
  const { data } = useSuspenseQuery({ ...sessionQuery, ...options });
  const [last, setLast] = useState(data.user);
  const [isLeaving, setLeaving] = useState(false);
  const isOther = !isLeaving && data.user !== undefined && last !== undefined && data.user.id !== last.id;
  if (data.user && data.user !== last && !isOther) setLast(data.user);
  const user = isLeaving ? data.user : (data.user ?? last);
  // The page is opened anew for another user, who is not to see or send what was typed by the last.
  useEffect(() => {
    if (isOther) location.reload();
  }, [isOther]);
  const session = useMemo(
    () => ({
      user,
      hasEnded: user !== undefined && !data.user,
      registration: data.registration,
      awaitsSetUp: data.awaitsSetUp,
      unit: data.unit ?? { code: "", symbol: "" },
      addresses: data.addresses ?? { root: location.origin, direct: "", cdn: "", cn: "" },
      hasDocs: data.docs,
      async refresh() {
        setLeaving(true);
        await client.refetchQueries({ queryKey: sessionQuery.queryKey });
        setLast(client.getQueryData<GetSessionResponse>(sessionQuery.queryKey)?.user);
        setLeaving(false);
        const kept = hashKey(sessionQuery.queryKey);
        client.removeQueries({ predicate: ({ queryHash }) => queryHash !== kept });
      },
    }),
    [data, user, client],
  );
  return isOther ? null : <Current value={session}>{children}</Current>;
}

export function useSession(): Session {
  const session = use(Current);
  if (!session) throw new Error("useSession is used outside of SessionProvider");
  return session;
}

/** useUser returns the signed-in user. Use it on pages that need a session. */
export function useUser(): User {
  const { user } = useSession();
  if (!user) throw new Error("nobody is signed in");
  return user;
}

export { Registration };
