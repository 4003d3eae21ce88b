import { checkedQuery } from '../../common/contract-fields.js';
import { ListQuery } from './list-query.dto.js';

const listQuery = (query: object): ListQuery => checkedQuery(ListQuery, query);

const ID = 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A';

describe('listQuery', () => {
  it('has defaults', () => {
    expect(listQuery({})).toEqual({ limit: 20, after: undefined, status: undefined, since: undefined });
  });

  it('reads every parameter', () => {
    expect(listQuery({ limit: '100', after: ID, status: 'failed', since: '1795233600' })).toEqual({
      limit: 100,
      after: ID,
      status: 'failed',
      since: new Date('2026-11-21T04:00:00Z'),
    });
  });

  it.each([
    [{ limit: '0' }, 'integer_below_min_value', 'limit'],
    [{ limit: '101' }, 'integer_above_max_value', 'limit'],
    [{ limit: '1e1' }, 'invalid_type', 'limit'],
    [{ limit: ['1', '2'] }, 'invalid_type', 'limit'],
    [{ after: 'task_1' }, 'invalid_value', 'after'],
    [{ status: 'processing' }, 'invalid_value', 'status'],
    [{ since: '2026-11-21' }, 'invalid_type', 'since'],
  ])('refuses %p', (query, code, param) => {
    expect(() => listQuery(query)).toThrow(expect.objectContaining({ code, param }) as Error);
  });
});
