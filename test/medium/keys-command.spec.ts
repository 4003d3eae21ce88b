import { keys } from '../../apps/standalone/src/commands/keys.js';
import { AuditLog } from '#accounts/audit-log.js';
import { command, openTaskRoom, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const SECRET_KEY = 'k'.repeat(40);
const USUAL =
  'Its limits are: weight 1, submits/min default, polls/min default, chats/min default, in flight default, keys default.';

describe('budgets by npm run keys', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  async function runWith(env: Record<string, string>, ...args: string[]): Promise<string> {
    const lines: string[] = [];
    await keys(args, { DATABASE_URL: room.databaseUrl, SECRET_KEY, ...env }, (line) => lines.push(line));
    return lines.join('\n');
  }
  const run = (...args: string[]): Promise<string> => runWith({}, ...args);

  it('are set, shown with what is spent, changed and taken away', async () => {
    expect(await run('account')).toBe(`The budget of the account is none.\n${USUAL}`);
    expect(await run('account', '--budget', '100')).toBe(
      `The budget of the account is 0.000000 of 100.000000 this month.\n${USUAL}`,
    );
    await room.inserts.insert(command({ cost: { reserved: 40_000, currency: 'USD' } }), 900_000);
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
    expect(await run('account', '--budget', 'none')).toBe(`The budget of the account is none.\n${USUAL}`);
  });

  it('are those of the account that is named', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_b', 'B')`);
    const created = await run('create', '--name', 'of b', '--account', 'acct_b');
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    expect(await run('account', '--account', 'acct_b', '--budget', '5')).toMatch(
      /0\.000000 of 5\.000000 this month\.\n/,
    );
    expect(await run('list', '--account', 'acct_b')).toMatch(new RegExp(`${id} [^]*Budget of the account: .* 5\\.0`));
    expect(await run('list')).not.toContain(id);
    expect(await run('account')).toBe(`The budget of the account is none.\n${USUAL}`);
    await expect(run('revoke', id)).rejects.toThrow('no key');
    expect(await run('revoke', id, '--account', 'acct_b')).toContain('is revoked');
  });

  it('go beside the response format of an account, which has no other setting of a client', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_format', 'F')`);
    const f = ['--account', 'acct_format'];
    const usual = `The budget of the account is none.\n${USUAL}`;
    expect(await run('account', '--response-format', 'url', ...f)).toBe(`${usual}\nIts response format is url.`);
    expect(await run('account', ...f)).toContain('Its response format is url.');
    expect(await run('account', '--response-format', 'default', ...f)).toBe(usual);
    await expect(run('account', '--pixel-sizes', 'no', ...f)).rejects.toThrow("unknown option '--pixel-sizes'");
    await expect(run('account', '--response-format', 'png', ...f)).rejects.toThrow('Allowed choices are');
    const { entries } = await new AuditLog(room.database).list('acct_format', { limit: 100 });
    expect(entries.map(({ action, details }) => [action, details['changes']]).reverse()).toEqual([
      ['account.limits_set', { default_response_format: 'url' }],
      ['account.limits_set', { default_response_format: null }],
    ]);
  });

  it('stand in the audit log, as does every key that is made, changed or revoked; reading leaves no trace', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_c', 'C')`);
    const c = ['--account', 'acct_c'];
    const created = await run('create', '--name', 'of c', '--tasks-in-flight', '3', ...c);
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    await run('update', id, '--budget', '2.5', '--budget-period', 'total', '--polls-per-minute', 'default', ...c);
    await run('account', '--budget', '9', ...c);
    await run('account', '--budget', 'none', ...c);
    await run('revoke', id, ...c);
    expect(await run('revoke', id, ...c)).toContain('was revoked before; nothing changed');
    await run('list', ...c);
    await run('account', ...c);
    await expect(run('revoke', 'key_none', ...c)).rejects.toThrow('no key');
    const { entries } = await new AuditLog(room.database).list('acct_c', { limit: 100 });
    const command = { via: 'command' };
    expect(entries.map(({ action, target, person, details }) => [action, target, person, details]).reverse()).toEqual([
      ['key.created', id, null, { name: 'of c', tasks_in_flight: 3, ...command }],
      [
        'key.changed',
        id,
        null,
        { name: 'of c', changes: { polls_per_minute: null, budget: '2.500000', budget_period: 'total' }, ...command },
      ],
      ['account.budget_set', 'acct_c', null, { name: 'C', budget: '9.000000', period: 'month', ...command }],
      ['account.budget_set', 'acct_c', null, { name: 'C', budget: null, period: null, ...command }],
      ['key.revoked', id, null, { name: 'of c', ...command }],
    ]);
  });

  it('set what a request may cost without an approval, for a key and an account, and take it back', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_held', 'F')`);
    const f = ['--account', 'acct_held'];
    const created = await run('create', '--name', 'agent', '--approve-above', '0.5', ...f);
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    const above = async (table: string, row: string) =>
      (await room.sql(`SELECT approve_above_micros AS above FROM ${table} WHERE id = '${row}'`)).rows as unknown;
    expect(await above('api_keys', id)).toEqual([{ above: '500000' }]);
    expect(await run('update', id, '--approve-above', '0', ...f)).toContain(
      'budget none; requests above 0.000000 need an approval; this takes effect',
    );
    expect(await run('update', id, '--approve-above', 'none', ...f)).toContain('budget none; this takes effect');
    expect(await run('account', '--approve-above', '2', ...f)).toContain(
      'The budget of the account is none; requests above 2.000000 need an approval.',
    );
    const { entries } = await new AuditLog(room.database).list('acct_held', { limit: 1 });
    expect(entries[0]).toMatchObject({
      action: 'account.limits_set',
      details: { changes: { approve_above: '2.000000' } },
    });
    await run('account', '--approve-above', 'none', ...f);
    expect([await above('api_keys', id), await above('accounts', 'acct_held')]).toEqual([
      [{ above: null }],
      [{ above: null }],
    ]);
  });

  it('set what suits the client of a key, and take it back', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_client', 'E')`);
    const e = ['--account', 'acct_client'];
    const created = await run('create', '--name', 'librechat', '--response-format', 'b64_json', ...e);
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    const columns = async () => {
      const { rows } = await room.sql(
        `SELECT default_response_format AS format, allow_pixel_size AS pixels, submit_mode AS mode FROM api_keys WHERE id = '${id}'`,
      );
      return rows[0] as unknown;
    };
    expect(await columns()).toEqual({ format: 'b64_json', pixels: null, mode: 'sync' });
    const settings = ['--response-format', 'both', '--pixel-sizes', 'no', '--submit-mode', 'apimart'];
    const changed = await run('update', id, ...settings, ...e);
    expect(changed).toContain('answers both, no pixel sizes, submit mode apimart, budget none;');
    expect(await columns()).toEqual({ format: 'both', pixels: false, mode: 'apimart' });
    const { entries } = await new AuditLog(room.database).list('acct_client', { limit: 1 });
    expect(entries[0]?.details).toMatchObject({
      changes: { default_response_format: 'both', allow_pixel_size: false, submit_mode: 'apimart' },
    });
    await run(
      'update',
      id,
      '--response-format',
      'default',
      '--pixel-sizes',
      'default',
      '--submit-mode',
      'default',
      ...e,
    );
    expect(await columns()).toEqual({ format: null, pixels: null, mode: 'sync' });
    for (const wrong of [
      ['--response-format', 'json'],
      ['--pixel-sizes', 'maybe'],
      ['--submit-mode', 'async'],
    ]) {
      await expect(run('update', id, ...wrong, ...e)).rejects.toThrow(/Allowed choices are .*, default\./);
    }
    await expect(run('account', '--submit-mode', 'apimart', ...e)).rejects.toThrow("unknown option '--submit-mode'");
  });

  it('say what a key may be used for, for whom, and how long its tasks are kept', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_use', 'U')`);
    const u = ['--account', 'acct_use'];
    const given = ['--scopes', 'tasks,images', '--tasks', 'own', '--end-users', 'derive', '--tags', 'shop, web,shop'];
    const created = await run('create', '--name', 'kiosk', ...given, '--keep-seconds', '3600', ...u);
    const [id = ''] = /key_\w+/.exec(created.split('\n').at(-1) ?? '') ?? [];
    const columns = async () => {
      const { rows } = await room.sql(
        `SELECT scopes, tasks, end_users, tags, keep_seconds FROM api_keys WHERE id = '${id}'`,
      );
      return rows[0] as unknown;
    };
    const uses = { scopes: ['images', 'tasks'], tasks: 'own', end_users: 'derive', tags: ['shop', 'web'] };
    expect(await columns()).toEqual({ ...uses, keep_seconds: 3_600 });
    expect(await run('list', ...u)).toContain(
      ', its own tasks only, only images tasks, end users derive, tags shop web, tasks kept for 3600 s',
    );
    const usual = ['--scopes', 'all', '--tasks', 'all', '--end-users', 'off', '--tags', 'none'];
    await run('update', id, ...usual, '--keep-seconds', 'default', ...u);
    const none = { scopes: [], tasks: 'all', end_users: 'off', tags: [], keep_seconds: null };
    expect(await columns()).toEqual(none);
    const { entries } = await new AuditLog(room.database).list('acct_use', { limit: 1 });
    expect(entries[0]?.details).toMatchObject({ changes: none });
    for (const [option, wrong] of [
      ['--scopes', 'images,all'],
      ['--scopes', ','],
      ['--end-users', 'hash'],
      ['--tags', '1,2,3,4,5,6,7,8,9'],
      ['--tags', ','],
      ['--keep-seconds', '59'],
    ] as const)
      await expect(run('update', id, option, wrong, ...u)).rejects.toThrow(option);
    expect(await columns()).toEqual(none);
  });

  it.each([
    [
      'openwebui',
      ['API Base URL  https://images.example.org/v1', 'Model         gpt-image-2', 'Engine        Open AI'],
    ],
    ['librechat', ['IMAGE_GEN_OAI_BASEURL=https://images.example.org/v1\n', 'IMAGE_GEN_OAI_MODEL=gpt-image-2\n']],
    ['lobechat', ['OPENAI_PROXY_URL  https://images.example.org/v1', 'Model             gpt-image-2']],
    ['n8n', ['Base URL  https://images.example.org/v1', 'Model     gpt-image-2']],
    ['ai-sdk', ['baseURL     https://images.example.org/v1', 'imageModel  gpt-image-2']],
    ['langchain', ['baseUrl  https://images.example.org/v1', 'model    gpt-image-2']],
    ['dify', ['OpenAI base URL  https://images.example.org/v1', 'Model            gpt-image-2']],
    ['cherry-studio', ['API Host  https://images.example.org\n', 'Model     gpt-image-2']],
  ])('tell what to enter in %s, with the new key, which needs no settings', async (client, lines) => {
    const printed = await runWith({ PUBLIC_URL: 'https://images.example.org/' }, 'create', '--for', client);
    const [key = ''] = printed.split('\n');
    const [, id = '', recipe = ''] =
      /the key "[a-z0-9-]+" \((key_\w+)\)[^]*?\n\n(Enter in [^]*docs\/clients\.md)$/.exec(printed) ?? [];
    for (const line of [...lines, key]) expect(recipe).toContain(line);
    const { rows } = await room.sql(
      `SELECT name, default_response_format AS format, allow_pixel_size AS pixels, submit_mode AS mode FROM api_keys WHERE id = '${id}'`,
    );
    expect(rows).toEqual([{ name: client, format: null, pixels: null, mode: 'sync' }]);
  });

  it('H6: limits of an account are set, shown and taken back, and stand in its audit log', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_d', 'D')`);
    const d = ['--account', 'acct_d'];
    const limits = ['--weight', '2', '--submits-per-minute', '600', '--polls-per-minute', '0', '--max-keys', '50'];
    expect(await run('account', ...limits, '--chats-per-minute', '9', '--tasks-in-flight', '8', ...d)).toBe(
      'The budget of the account is none.\nIts limits are: ' +
        'weight 2, submits/min 600, polls/min any, chats/min 9, in flight 8, keys 50.',
    );
    await run('account', '--weight', 'default', '--submits-per-minute', 'default', '--budget', '3', ...d);
    expect(await run('account', ...d)).toMatch(/weight 1, submits\/min default, polls\/min any, chats\/min 9,/);
    const { entries } = await new AuditLog(room.database).list('acct_d', { limit: 100 });
    expect(entries.map(({ action, target, details }) => [action, target, details]).reverse()).toEqual([
      [
        ...['account.limits_set', 'acct_d'],
        {
          name: 'D',
          via: 'command',
          changes: {
            weight: 2,
            submits_per_minute: 600,
            polls_per_minute: 0,
            chats_per_minute: 9,
            tasks_in_flight: 8,
            max_keys: 50,
          },
        },
      ],
      ['account.budget_set', 'acct_d', { name: 'D', budget: '3.000000', period: 'month', via: 'command' }],
      ['account.limits_set', 'acct_d', { name: 'D', changes: { weight: 1, submits_per_minute: null }, via: 'command' }],
    ]);
  });

  it('H6: a full account gets no key from the command either, which says how to allow more', async () => {
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_e', 'E')`);
    const create = () => runWith({ KEYS_PER_ACCOUNT: '2' }, 'create', '--name', 'one more', '--account', 'acct_e');
    const results = await Promise.allSettled(Array.from({ length: 6 }, create));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await expect(create()).rejects.toThrow('npm run keys -- account --account acct_e --max-keys <number>');
    const [id = ''] = /key_\w+/.exec(await run('list', '--account', 'acct_e')) ?? [];
    await run('revoke', id, '--account', 'acct_e');
    expect(await create()).toContain('one more');
    await run('account', '--account', 'acct_e', '--max-keys', '0');
    expect(await create()).toContain('one more');
  });

  it('tells how to use it, without a database', async () => {
    const help = await runWith({ DATABASE_URL: '' }, 'update', '--help');
    expect(help).toMatch(/^Usage: npm run keys -- update \[options\] <key>/);
    for (const option of ['--weight', '--budget', '--response-format', '--account']) expect(help).toContain(option);
  });

  it('names the command that the image has, without npm', async () => {
    const { npm_lifecycle_event: script } = process.env;
    delete process.env['npm_lifecycle_event'];
    const help = await runWith({ DATABASE_URL: '' }, 'update', '--help').finally(() => {
      process.env['npm_lifecycle_event'] = script;
    });
    expect(help).toMatch(/^Usage: darkroom keys update /);
  });

  it.each<[string[], RegExp]>([
    [['list', '--account', 'acct_none'], /no account with the id acct_none/],
    [
      ['update', TEST_KEY, '--budget', '1,5'],
      /option '--budget <amount>' argument '1,5' is invalid\. It must be an amount/,
    ],
    [
      ['update', TEST_KEY, '--budget', '1', '--budget-period', 'week'],
      /argument 'week' is invalid\. Allowed choices are month, total/,
    ],
    [['update', TEST_KEY, '--budget-period', 'total'], /--budget-period needs --budget/],
    [['account', '--weight', '101'], /'101' is invalid\. It must be a whole number from 1 to 100, or default/],
    [['account', '--max-keys', '-1'], /'-1' is invalid\. It must be a whole number from 0 to/],
    [['update', TEST_KEY, '--max-keys', '5'], /unknown option '--max-keys'/],
    [['create', '--chats-per-minute', '5'], /unknown option/],
    [['list', '--budget', '1'], /unknown option '--budget'\n`npm run keys -- --help` shows how to use it\./],
    [
      ['create', '--for', 'nobody'],
      /'nobody' is invalid\. Allowed choices are openwebui, librechat, .*, cherry-studio\./,
    ],
    [['create', '--for', 'toString'], /Allowed choices/],
    [['list', '--for', 'n8n'], /unknown option '--for'/],
    [['update', TEST_KEY], /Specify what to change/],
    [['update', '--weight', '2'], /missing required argument 'key'/],
    [['lst'], /unknown command 'lst'\n\(Did you mean list\?\)/],
    [[], /create \[options\] +create a key/],
    [['update', 'key_none', '--budget', '1'], /no key/],
  ])('refuses %j', async (args, problem) => {
    await expect(run(...args)).rejects.toThrow(problem);
  });
});
