/** App provides what all pages share: theme, language, transport, session and router. */
import { TransportProvider } from "@connectrpc/connect-query";
import { MantineProvider } from "@mantine/core";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Suspense } from "react";
import { Starting, Unreachable } from "./frame/starting.tsx";
import { LanguageProvider } from "./language/language.tsx";
import { nonce } from "./nonce.ts";
import { Boundary } from "./parts/boundary.tsx";
import { endsSession, isPassing } from "./refusal.ts";
import { router } from "./router.tsx";
import { SessionProvider, sessionQuery } from "./session.tsx";
import { theme, variables } from "./theme.ts";
import { transport } from "./transport.ts";

/** After the session has ended, the frame asks who is signed in, and for the password. */
const onError = (error: unknown) => {
  if (endsSession(error)) void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
};

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: { staleTime: 5_000, retry: (failures, error) => failures < 2 && isPassing(error) },
  },
});

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <LanguageProvider>
        <TransportProvider transport={transport}>
          <QueryClientProvider client={client}>
            <Boundary fallback={(error, again) => <Unreachable error={error} again={again} />}>
              <Suspense fallback={<Starting />}>
                <SessionProvider>
                  <RouterProvider router={router} />
                </SessionProvider>
              </Suspense>
            </Boundary>
          </QueryClientProvider>
        </TransportProvider>
      </LanguageProvider>
    </MantineProvider>
  );
}
