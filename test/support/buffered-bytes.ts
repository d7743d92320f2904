/** More bytes than the systems of both ends of a loopback connection hold for a reader that does not read. */
export const bufferedBytes = 48 * 1024 * 1024;
