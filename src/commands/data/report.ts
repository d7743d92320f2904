/** report reports errors that no caller waits for. */
export function report(error: unknown): void {
  console.error(`model-gateway: ${error instanceof Error ? error.message : String(error)}`);
}
