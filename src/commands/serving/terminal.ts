/** Tells SIGHUP of a terminal that was closed from SIGHUP that asks for the configuration to be read anew. */
import { closeSync, openSync } from "node:fs";

/** createIsClosed returns what reports whether this process had a terminal, and it is gone. */
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
