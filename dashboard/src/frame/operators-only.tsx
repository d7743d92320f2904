/** Shows the operator's pages only to users who operate the gateway. The gateway also refuses the calls of others. */
import { Outlet } from "@tanstack/react-router";
import { useUser } from "../session.tsx";
import { PageMissing } from "./page-states.tsx";

export function OperatorsOnly() {
  return useUser().operator ? <Outlet /> : <PageMissing />;
}
