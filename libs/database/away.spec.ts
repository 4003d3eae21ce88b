import { isDatabaseAway } from './away.js';

const failure = (fields: object, message = 'it failed'): Error => Object.assign(new Error(message), fields);

describe('isDatabaseAway', () => {
  it.each([
    failure({ code: 'ECONNREFUSED', syscall: 'connect' }),
    // A name with several addresses, none of which answers.
    Object.assign(new AggregateError([failure({ code: 'ECONNREFUSED' })]), { code: 'ECONNREFUSED' }),
    failure({ code: 'ECONNRESET', syscall: 'read' }),
    failure({ code: '57014' }),
    failure({ code: '08006' }),
    failure({}, 'timeout exceeded when trying to connect'),
    failure({}, 'Connection terminated unexpectedly'),
  ])('is so for %p', (error) => {
    expect(isDatabaseAway(error)).toBe(true);
  });

  it.each([
    failure({ code: 'ECONNRESET' }, 'aborted'),
    failure({ code: '23505' }),
    failure({ code: 'FST_ERR_CTP_BODY_TOO_LARGE' }),
    failure({}, 'a bug'),
    'timeout exceeded when trying to connect',
    undefined,
  ])('is not for %p', (error) => {
    expect(isDatabaseAway(error)).toBe(false);
  });
});
