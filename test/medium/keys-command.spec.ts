import { keys } from '../../apps/onebox/src/keys.js';
import { command, openTaskRoom, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);

describe('budgets by npm run keys', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  async function run(...args: string[]): Promise<string> {
    const lines: string[] = [];
    await keys(args, { DATABASE_URL: room.databaseUrl, SECRET_KEY }, (line) => lines.push(line));
    return lines.join('\n');
  }

  it('are set, shown with what is spent, changed and taken away', async () => {
    expect(await run('account')).toBe('The budget of the account is none.');
    expect(await run('account', '--budget', '100')).toBe(
      'The budget of the account is 0.000000 of 100.000000 this month.',
    );
    await room.store.insert(command({ cost: { reserved: 40_000, currency: 'USD' } }), 900_000);
    expect(await run('update', TEST_KEY, '--budget', '2.5', '--budget-period', 'total', '--weight', '3')).toMatch(
      /has weight 3, .*, budget 0\.040000 of 2\.500000 in total;/,
    );
    const created = await run('create', '--name', 'team', '--budget', '1');
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    const listed = await run('list');
    expect(listed).toMatch(new RegExp(`${TEST_KEY} .* 0.040000 of 2.500000 in total +active`));
    expect(listed).toMatch(new RegExp(`${id} .* 0.000000 of 1.000000 this month +active`));
    expect(listed).toMatch(/Budget of the account: 0\.040000 of 100\.000000 this month$/);
    expect(await run('update', TEST_KEY, '--budget', 'none')).toMatch(/has weight 3, .*, budget none;/);
    expect(await run('account', '--budget', 'none')).toBe('The budget of the account is none.');
  });

  it.each([
    [['update', TEST_KEY, '--budget', '1,5'], /--budget takes an amount/],
    [['update', TEST_KEY, '--budget', '1', '--budget-period', 'week'], /--budget-period takes month or total/],
    [['update', TEST_KEY, '--budget-period', 'total'], /--budget-period needs --budget/],
    [['account', '--budget', '1', '--weight', '2'], /How to use it/],
    [['list', '--budget', '1'], /How to use it/],
    [['update', 'key_none', '--budget', '1'], /no key/],
  ])('refuses %j', async (args, problem) => {
    await expect(run(...args)).rejects.toThrow(problem);
  });
});
