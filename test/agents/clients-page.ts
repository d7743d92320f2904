import type { Row } from "./row.ts"; export async function writeClientsPage(_rows: readonly Row[]): Promise<void> {}
