/** Tells SIGHUP of a terminal that was closed from SIGHUP that asks for the configuration to be read anew. */
import { closeSync, openSync } from "node:fs";

/** createIsTerminalClosed returns a function that reports whether this process had a terminal that is gone. */
export function createIsTerminalClosed(): () => boolean {
  const hadTerminal = hasTerminal();
  return () => hadTerminal && !hasTerminal();
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}
