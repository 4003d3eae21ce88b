/** Codes of Node's sockets: nobody listens, the name is unknown, or the connection broke. */
const SOCKET = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/**
 * Codes of Postgres: connection exceptions, too many connections, lock not available in time, cancelled by its time
 * limit, shutting down or starting up. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SQLSTATE = /^(?:08...|53300|55P03|57014|57P0[1-3])$/;
/** What the driver says without a code, when its own time limits are over or the server hung up. */
const DRIVER = /^(?:timeout exceeded when trying to connect|Query read timeout|Connection terminated)/;

/** Whether an error of the database means that it cannot be reached or does not answer in time: later it may. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code !== 'string') return DRIVER.test(error.message);
  // A caller that hangs up in the middle of its request is an ECONNRESET as well, but not of a call to the system.
  return SQLSTATE.test(code) || (SOCKET.test(code) && (code !== 'ECONNRESET' || syscall !== undefined));
}
