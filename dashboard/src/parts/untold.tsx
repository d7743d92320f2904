/** Says that something was made, but that the answer that told its secret did not arrive, and what to do now. */
import { Alert } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import text from "./text.module.css";

export function Untold({ children }: { readonly children: ReactNode }) {
  return (
    <Alert color="yellow" icon={<IconAlertCircle aria-hidden />} role="status" className={text.anywhere}>
      {children}
    </Alert>
  );
}
