import { Prisma } from './generated/client.js';

/** Codes of Node's sockets: nobody listens, the name is unknown, or the connection broke. */
const SOCKET = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/**
 * Codes of Postgres: connection exceptions, too many connections, lock not available in time, cancelled by its time
 * limit, a primary that became a standby, shutting down or starting up. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SQLSTATE = /^(?:08...|25006|53300|55P03|57014|57P0[1-3])$/;
/** What a code of Postgres looks like, and those after which its session may be over. */
const REFUSED = /^[0-9A-Z]{5}$/;
const ENDED = /^(?:08...|25P03|40003|53...|57P..|58...|F0...|XX...)$/;
/** What the driver says without a code, when its own time limits are over or the server hung up. */
const DRIVER =
  /^(?:timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error)/;
/**
 * Codes of Prisma: not reachable, too slow to connect or to answer, hung up, no connection free, a transaction that
 * could not begin or took too long, a conflict to be tried again. https://www.prisma.io/docs/orm/reference/error-reference
 */
const PRISMA = /^(?:P1001|P1002|P1008|P1017|P2024|P2028|P2034)$/;
/** What Prisma's adapter calls what it knows of a broken connection. */
const ADAPTER = /^(?:DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections)$/;

/** Whether an error of the database means that it cannot be reached or does not answer in time: later it may. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (error instanceof Prisma.PrismaClientKnownRequestError) return isPrismaAway(error);
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code !== 'string') return DRIVER.test(error.message);
  // A caller that hangs up in the middle of its request is an ECONNRESET as well, but not of a call to the system.
  return SQLSTATE.test(code) || (SOCKET.test(code) && (code !== 'ECONNRESET' || syscall !== undefined));
}

/**
 * Whether Postgres says that a statement has changed nothing. What ends a session says nothing of the statement it was in:
 * broken connections, shutting down, failures of the server or its system, and a completion that is unknown.
 */
export function wasRolledBack(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && REFUSED.test(code) && !ENDED.test(code);
}

/** A code of Postgres stands in what the adapter threw, the code of a socket in place of Prisma's own. */
function isPrismaAway({ code, meta }: Prisma.PrismaClientKnownRequestError): boolean {
  if (PRISMA.test(code) || SOCKET.test(code)) return true;
  const thrown = meta?.['driverAdapterError'];
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const { kind = '', originalCode = '' } = (cause ?? {}) as { kind?: string; originalCode?: string };
  return ADAPTER.test(kind) || SQLSTATE.test(originalCode);
}

/** Whether a row was refused because another one has its unique values. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}
