/** Shows the operator's pages to who operates the gateway, and to nobody else. The gateway refuses their calls besides. */
import { Outlet } from "@tanstack/react-router";
import { useUser } from "../session.tsx";
import { PageMissing } from "./page-states.tsx";

export function OperatorsOnly() {
  return useUser().operator ? <Outlet /> : <PageMissing />;
}
