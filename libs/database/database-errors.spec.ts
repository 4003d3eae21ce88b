import { isDatabaseUnavailable } from './database-errors.js';
import { Prisma } from './generated/client.js';

const failure = (fields: object, message = 'it failed'): Error => Object.assign(new Error(message), fields);

/** As Prisma throws it: what its adapter threw is the cause of an error in `meta`. */
const known = (code: string, cause?: object): Error =>
  new Prisma.PrismaClientKnownRequestError('it failed', {
    code,
    clientVersion: '7',
    meta:
      cause === undefined ? {} : { modelName: 'Task', driverAdapterError: new Error('DriverAdapterError', { cause }) },
  });

describe('isDatabaseUnavailable', () => {
  it.each([
    failure({ code: 'ECONNREFUSED', syscall: 'connect' }),
    // A name with several addresses, none of which answers.
    Object.assign(new AggregateError([failure({ code: 'ECONNREFUSED' })]), { code: 'ECONNREFUSED' }),
    failure({ code: 'ECONNRESET', syscall: 'read' }),
    failure({ code: '57014' }),
    failure({ code: '08006' }),
    failure({ code: '25006' }, 'cannot execute UPDATE in a read-only transaction'),
    failure({}, 'timeout exceeded when trying to connect'),
    failure({}, 'Connection terminated unexpectedly'),
    failure({}, 'Client has encountered a connection error and is not queryable'),
    known('P1001'),
    known('P1002'),
    known('P1008'),
    known('P1017'),
    known('P2024'),
    known('P2028'),
    known('P2034'),
    known('EAI_AGAIN'),
    known('P2039', { originalCode: '55P03', kind: 'postgres', code: '55P03' }),
    known('P2039', { originalCode: '57P01', kind: 'postgres', code: '57P01' }),
    known('P2010', { originalCode: '57014', kind: 'postgres', code: '57014' }),
    known('P2010', { kind: 'DatabaseNotReachable', host: '127.0.0.1', port: 1 }),
    known('P2037', { originalCode: '53300', kind: 'TooManyConnections' }),
    new Prisma.PrismaClientInitializationError('it did not begin', '7'),
  ])('is so for %p', (error) => {
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it.each([
    failure({ code: 'ECONNRESET' }, 'aborted'),
    failure({ code: '23505' }),
    failure({ code: 'FST_ERR_CTP_BODY_TOO_LARGE' }),
    failure({}, 'a bug'),
    known('P2002', { originalCode: '23505', kind: 'UniqueConstraintViolation' }),
    known('P2039', { originalCode: '23514', kind: 'postgres', code: '23514' }),
    known('P2010', { originalCode: 'DR402', kind: 'postgres', code: 'DR402' }),
    known('P2025'),
    new Prisma.PrismaClientValidationError('a bug', { clientVersion: '7' }),
    'timeout exceeded when trying to connect',
    undefined,
  ])('is not for %p', (error) => {
    expect(isDatabaseUnavailable(error)).toBe(false);
  });
});
