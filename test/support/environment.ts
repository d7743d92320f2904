const { ACCELERATORS, NODE_COMPILE_CACHE } = process.env;

/**
 * environment is what gateways that tests start have of the tests' own environment: which accelerators they run with, and where programs
 * find their modules compiled, which halves their start.
 */
export const environment: Readonly<Record<string, string | undefined>> = { ACCELERATORS, NODE_COMPILE_CACHE };
