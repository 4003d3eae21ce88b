import { checkedQuery } from '../common/contract-fields.js';
import { batchBody } from './batch-body.js';
import { PollQuery } from './dto/poll-query.dto.js';

/** In milliseconds. */
const waitQuery = (query: object): number => (checkedQuery(PollQuery, query).wait ?? 0) * 1_000;

describe('batchBody', () => {
  it('keeps the order and each id once', () => {
    expect(batchBody({ task_ids: ['b', 'a', 'b'] })).toEqual(['b', 'a']);
    expect(batchBody({ task_ids: Array.from({ length: 50 }, (_, n) => `task_${n}`) })).toHaveLength(50);
  });

  it.each([
    [undefined, 'invalid_type', null],
    [[], 'invalid_type', null],
    [{}, 'missing_required_parameter', 'task_ids'],
    [{ task_ids: 'task_1' }, 'invalid_type', 'task_ids'],
    [{ task_ids: [] }, 'array_below_min_length', 'task_ids'],
    [{ task_ids: Array.from({ length: 51 }, String) }, 'array_above_max_length', 'task_ids'],
    [{ task_ids: ['a', 'b', 'c', 4] }, 'invalid_type', 'task_ids[3]'],
  ])('refuses %p', (body, code, param) => {
    expect(() => batchBody(body)).toThrow(expect.objectContaining({ code, param: param ?? undefined }) as Error);
  });
});

describe('waitQuery', () => {
  it('reads seconds', () => {
    expect([{}, { wait: '' }, { wait: '1' }, { wait: '60' }].map(waitQuery)).toEqual([0, 0, 1_000, 60_000]);
  });

  it.each(['0', '61', '-1', '1.5', '1e1', 'x', ['1', '2']])('refuses %p', (wait) => {
    expect(() => waitQuery({ wait })).toThrow(
      expect.objectContaining({ code: 'invalid_value', param: 'wait' }) as Error,
    );
  });
});
