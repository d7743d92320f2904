/** What gateways that tests start have of the tests' own environment: which accelerators they run with. */
export const environment: Readonly<Record<string, string | undefined>> = { ACCELERATORS: process.env.ACCELERATORS };
