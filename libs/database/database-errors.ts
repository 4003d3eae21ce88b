import { Prisma } from './generated/client.js';

/** Error codes of Node's sockets: connection refused, unknown host, or broken connection. */
const SOCKET = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/**
 * SQLSTATEs: connection exceptions, a read-only server (a standby, or one whose provider saw its disk run full), time
 * limits of a transaction or session, no resources left (connections, disk, memory), lock not available in time,
 * canceled by a time limit, shutdown or startup. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const SQLSTATE = /^(?:08...|25006|25P0[34]|53...|55P03|57014|57P0[1235])$/;
/** The form of a SQLSTATE, and the SQLSTATEs after which the session may have ended. */
const REFUSED = /^[0-9A-Z]{5}$/;
const ENDED = /^(?:08...|25P0[34]|40003|53...|57P..|58...|F0...|XX...)$/;
/** Driver errors without a code: its own timeouts, or a connection closed by the server. */
const DRIVER =
  /^(?:timeout exceeded when trying to connect|Query read timeout|Connection terminated|Client has encountered a connection error)/;
/**
 * Prisma codes: unreachable, timeout of a connection or query, connection closed, no free connection, a transaction
 * that could not begin or took too long, a conflict to retry. https://www.prisma.io/docs/orm/reference/error-reference
 */
const PRISMA = /^(?:P1001|P1002|P1008|P1017|P2024|P2028|P2034)$/;
/** Kinds of connection errors that Prisma's adapter reports. */
const ADAPTER = /^(?:DatabaseNotReachable|ConnectionClosed|SocketTimeout|TooManyConnections)$/;

/** Whether a database error means that the database is unreachable or too slow, so a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof Prisma.PrismaClientInitializationError) return true;
  if (error instanceof Prisma.PrismaClientKnownRequestError) return isPrismaUnavailable(error);
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code !== 'string') return DRIVER.test(error.message);
  // A client that disconnects during its request also causes ECONNRESET, but without a system call.
  return SQLSTATE.test(code) || (SOCKET.test(code) && (code !== 'ECONNRESET' || syscall !== undefined));
}

/**
 * Whether Postgres reports that a statement changed nothing. Errors that end a session leave the outcome unknown:
 * broken connections, shutdown, failures of the server or its system, and an unknown completion.
 */
export function wasRolledBack(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && REFUSED.test(code) && !ENDED.test(code);
}

/** The adapter's error contains the SQLSTATE; a socket's error code replaces Prisma's own `code`. */
function isPrismaUnavailable({ code, meta }: Prisma.PrismaClientKnownRequestError): boolean {
  if (PRISMA.test(code) || SOCKET.test(code)) return true;
  const thrown = meta?.['driverAdapterError'];
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const { kind = '', originalCode = '' } = (cause ?? {}) as { kind?: string; originalCode?: string };
  return ADAPTER.test(kind) || SQLSTATE.test(originalCode);
}

/** Whether a row was rejected because another row has the same unique values. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}
