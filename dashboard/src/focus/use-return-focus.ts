/** useReturnFocus gives the focus back when a dialog closes, also if it was open from its first moment on, or goes with what it is in. */
import { useEffect } from "react";
import { rememberFocus } from "./keep-focus.ts";

export function useReturnFocus(opened: boolean): void {
  useEffect(() => (opened ? rememberFocus() : undefined), [opened]);
}
