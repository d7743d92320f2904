/** Maps addresses to pages. Pages load when they are first opened. */
import { createRootRoute, createRoute, createRouter, Outlet } from "@tanstack/react-router";
import { fetchedPage } from "./fetched.ts";
import { PageFailed, PageMissing, PageOpening } from "./frame/page-states.tsx";
import {
  type KeySearch,
  type RequestSearch,
  readAccountSearch,
  readAuditSearch,
  readKeySearch,
  readRequestSearch,
  readUserSearch,
} from "./search.ts";

const root = createRootRoute({ component: Outlet, notFoundComponent: () => <PageMissing outside /> });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ to }: Record<string, unknown>): { to?: string } => (typeof to === "string" ? { to } : {}),
  component: fetchedPage(() => import("./pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});
const setUp = createRoute({
  getParentRoute: () => root,
  path: "/set-up",
  component: fetchedPage(() => import("./pages/sign-in/set-up-page.tsx"), "SetUpPage"),
});
const register = createRoute({
  getParentRoute: () => root,
  path: "/register",
  component: fetchedPage(() => import("./pages/sign-in/register-page.tsx"), "RegisterPage"),
});
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: "/reset-password",
  component: fetchedPage(() => import("./pages/sign-in/reset-password-page.tsx"), "ResetPasswordPage"),
});

/** These pages need a session: without one, the frame redirects to the sign-in page. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: fetchedPage(() => import("./frame/app-frame.tsx"), "AppFrame"),
});

const overview = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: fetchedPage(() => import("./pages/overview/overview-page.tsx"), "OverviewPage"),
});
const keys = createRoute({
  getParentRoute: () => signedIn,
  path: "/keys",
  validateSearch: (search: Record<string, unknown>): KeySearch => readKeySearch(search),
  component: fetchedPage(() => import("./pages/keys/keys-page.tsx"), "KeysPage"),
});
const usage = createRoute({
  getParentRoute: () => signedIn,
  path: "/usage",
  validateSearch: (search: Record<string, unknown>): RequestSearch => readRequestSearch(search),
  component: fetchedPage(() => import("./pages/usage/usage-page.tsx"), "UsagePage"),
});
const request = createRoute({
  getParentRoute: () => signedIn,
  path: "/usage/$requestId",
  component: fetchedPage(() => import("./pages/usage/request-page.tsx"), "RequestPage"),
});
const recharge = createRoute({
  getParentRoute: () => signedIn,
  path: "/recharge",
  component: fetchedPage(() => import("./pages/recharge/recharge-page.tsx"), "RechargePage"),
});
const models = createRoute({
  getParentRoute: () => signedIn,
  path: "/models",
  component: fetchedPage(() => import("./pages/models/models-page.tsx"), "ModelsPage"),
});
const model = createRoute({
  getParentRoute: () => signedIn,
  path: "/models/$modelId",
  component: fetchedPage(() => import("./pages/models/model-page.tsx"), "ModelPage"),
});
const playground = createRoute({
  getParentRoute: () => signedIn,
  path: "/playground",
  validateSearch: ({ model }: Record<string, unknown>): { model?: string } =>
    typeof model === "string" ? { model } : {},
  component: fetchedPage(() => import("./pages/playground/playground-page.tsx"), "PlaygroundPage"),
});
const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings",
  component: fetchedPage(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
});

/** For users who operate the gateway; the frame shows others that the page does not exist. */
const operator = createRoute({
  getParentRoute: () => signedIn,
  path: "/operator",
  component: fetchedPage(() => import("./frame/operators-only.tsx"), "OperatorsOnly"),
});
const operatorOverview = createRoute({
  getParentRoute: () => operator,
  path: "/",
  component: fetchedPage(() => import("./pages/operator/operator-overview-page.tsx"), "OperatorOverviewPage"),
});
const accounts = createRoute({
  getParentRoute: () => operator,
  path: "/accounts",
  validateSearch: readAccountSearch,
  component: fetchedPage(() => import("./pages/operator/accounts-page.tsx"), "AccountsPage"),
});
const account = createRoute({
  getParentRoute: () => operator,
  path: "/accounts/$accountId",
  component: fetchedPage(() => import("./pages/operator/account-page.tsx"), "AccountPage"),
});
const users = createRoute({
  getParentRoute: () => operator,
  path: "/users",
  validateSearch: readUserSearch,
  component: fetchedPage(() => import("./pages/operator/users-page.tsx"), "UsersPage"),
});
const codes = createRoute({
  getParentRoute: () => operator,
  path: "/codes",
  component: fetchedPage(() => import("./pages/operator/codes-page.tsx"), "CodesPage"),
});
const upstreams = createRoute({
  getParentRoute: () => operator,
  path: "/upstreams",
  component: fetchedPage(() => import("./pages/upstreams/upstreams-page.tsx"), "UpstreamsPage"),
});
const upstream = createRoute({
  getParentRoute: () => operator,
  path: "/upstreams/$upstream",
  component: fetchedPage(() => import("./pages/upstreams/upstream-page.tsx"), "UpstreamPage"),
});
const addUpstream = createRoute({
  getParentRoute: () => operator,
  path: "/add-upstream",
  component: fetchedPage(() => import("./pages/upstreams/add-upstream-page.tsx"), "AddUpstreamPage"),
});
const operatorModels = createRoute({
  getParentRoute: () => operator,
  path: "/models",
  component: fetchedPage(() => import("./pages/operator-models/models-page.tsx"), "OperatorModelsPage"),
});
const operatorModel = createRoute({
  getParentRoute: () => operator,
  path: "/models/$modelId",
  component: fetchedPage(() => import("./pages/operator-models/model-page.tsx"), "OperatorModelPage"),
});
const addModel = createRoute({
  getParentRoute: () => operator,
  path: "/add-model",
  component: fetchedPage(() => import("./pages/operator-models/add-model-page.tsx"), "AddModelPage"),
});
const configurationHistory = createRoute({
  getParentRoute: () => operator,
  path: "/history",
  component: fetchedPage(() => import("./pages/history/history-page.tsx"), "HistoryPage"),
});
const requests = createRoute({
  getParentRoute: () => operator,
  path: "/requests",
  validateSearch: (search: Record<string, unknown>): RequestSearch => readRequestSearch(search),
  component: fetchedPage(() => import("./pages/operator/requests-page.tsx"), "RequestsPage"),
});
const anyRequest = createRoute({
  getParentRoute: () => operator,
  path: "/requests/$requestId",
  component: fetchedPage(() => import("./pages/operator/request-page.tsx"), "AnyRequestPage"),
});
const limits = createRoute({
  getParentRoute: () => operator,
  path: "/limits",
  component: fetchedPage(() => import("./pages/limits/limits-page.tsx"), "LimitsPage"),
});
const audit = createRoute({
  getParentRoute: () => operator,
  path: "/audit",
  validateSearch: readAuditSearch,
  component: fetchedPage(() => import("./pages/operator/audit-page.tsx"), "AuditPage"),
});

const operatorPages = [
  operatorOverview,
  accounts,
  account,
  users,
  codes,
  upstreams,
  upstream,
  addUpstream,
  operatorModels,
  operatorModel,
  addModel,
  configurationHistory,
  requests,
  anyRequest,
  limits,
  audit,
];
/** Any other address, within the frame. */
const missing = createRoute({ getParentRoute: () => signedIn, path: "$", component: () => <PageMissing /> });

const accountPages = [overview, keys, usage, request, recharge, models, model, playground, settings, missing];

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    setUp,
    register,
    resetPassword,
    signedIn.addChildren([...accountPages, operator.addChildren(operatorPages)]),
  ]),
  basepath: "/dashboard",
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: PageOpening,
  defaultErrorComponent: PageFailed,
  defaultNotFoundComponent: () => <PageMissing />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
