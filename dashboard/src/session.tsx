/**
 * Who is signed in, and what the gateway says of itself. Asked once when the page opens, and again after signing in and
 * out; a call that is refused because the session has ended signs out here too.
 */
import { createQueryOptions } from "@connectrpc/connect-query";
import { hashKey, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { createContext, type PropsWithChildren, use, useMemo } from "react";
import type { User } from "../../gen/modelgateway/v1/operator_pb.ts";
import { type Addresses, Registration, SessionService, type Unit } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { transport } from "./transport.ts";

export interface Session {
  /** Undefined where nobody is signed in. */
  readonly user: User | undefined;
  readonly registration: Registration;
  readonly awaitsSetUp: boolean;
  readonly unit: Pick<Unit, "code" | "symbol">;
  readonly addresses: Pick<Addresses, "root" | "direct" | "cdn" | "cn">;
  /** Asks anew who is signed in, and forgets what the one before saw. */
  readonly refresh: () => Promise<void>;
}

const Current = createContext<Session | undefined>(undefined);

/** The question, for whoever needs its answer or has to forget it. */
export const sessionQuery = createQueryOptions(SessionService.method.getSession, {}, { transport });

export function SessionProvider({ children }: PropsWithChildren) {
  const client = useQueryClient();
  const { data } = useSuspenseQuery({ ...sessionQuery, staleTime: Number.POSITIVE_INFINITY });
  const session = useMemo(
    () => ({
      user: data.user,
      registration: data.registration,
      awaitsSetUp: data.awaitsSetUp,
      unit: data.unit ?? { code: "", symbol: "" },
      addresses: data.addresses ?? { root: location.origin, direct: "", cdn: "", cn: "" },
      async refresh() {
        await client.refetchQueries({ queryKey: sessionQuery.queryKey });
        const kept = hashKey(sessionQuery.queryKey);
        client.removeQueries({ predicate: ({ queryHash }) => queryHash !== kept });
      },
    }),
    [data, client],
  );
  return <Current value={session}>{children}</Current>;
}

export function useSession(): Session {
  const session = use(Current);
  if (!session) throw new Error("useSession is used outside of SessionProvider");
  return session;
}

/** Returns who is signed in; pages behind the sign-in have somebody. */
export function useUser(): User {
  const { user } = useSession();
  if (!user) throw new Error("nobody is signed in");
  return user;
}

export { Registration };
