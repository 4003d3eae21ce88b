import { isAbove, mailboxOf, newEmailOf, roleOf, ROLES, storedEmailOf } from './person-rules.js';

describe('storedEmailOf', () => {
  it.each([
    ['ada@example.org', 'ada@example.org'],
    [' ADA@Example.ORG\n', 'ada@example.org'],
    ['ａｄａ＠example.org', 'ada@example.org'],
    ['\u212Aim@example.org', 'kim@example.org'],
    ['re\u0301mi@example.org', 'r\u00e9mi@example.org'],
    ['R\u00c9MI@example.org', 'r\u00e9mi@example.org'],
  ])('4.1: spells %j as %j', (text, stored) => {
    expect(storedEmailOf(text)).toBe(stored);
    expect(storedEmailOf(stored)).toBe(stored);
  });

  it.each([
    ...['', 'ada', '@example.org', 'ada@', 'a@b@c', 'a da@example.org'],
    ...['a\u0000da@example.org', 'ada@example.org\u0000', 'a\u200bda@example.org', 'a\u202eda@example.org'],
    ...['ada\u007f@example.org', '\ud800da@example.org', `${'a'.repeat(65)}@example.org`, `a@${'b'.repeat(2_000)}`],
    ...[undefined, null, 7, ['ada@example.org']],
  ])('4.1: takes %j for no address', (text) => {
    expect(storedEmailOf(text)).toBeUndefined();
  });
});

describe('newEmailOf', () => {
  it.each(['x,victim@v.test', 'a1<victim@v.test>', '"q"<victim@v.test>', 'grp:victim@v.test;', 'a(c)victim@v.test'])(
    'takes %j for no address, which only a provider may vouch for',
    (text) => {
      expect([newEmailOf(text), storedEmailOf(text)]).toEqual([undefined, text]);
    },
  );

  it.each(['victim@v.test,b', 'x@[192.0.2.1]', 'victim@v.test\\', 'x@v.test>,<y', 'a b@v.test', 'ada', undefined])(
    'takes %j for no address',
    (text) => {
      expect(newEmailOf(text)).toBeUndefined();
    },
  );

  it.each(["O'Brien+tag@example.org", 'r\u00e9mi@caf\u00e9.example', '#!$%&*-/=?^_`{|}~@example.org'])(
    'takes %j as it is stored',
    (text) => {
      expect(newEmailOf(text)).toBe(text.toLowerCase());
    },
  );
});

describe('mailboxOf', () => {
  it.each(['kim@caf\u00e9.example', 'kim@xn--caf-dma.example', 'kim@caf\u00e9\u3002example', 'kim@caf\u00e9.example.'])(
    'counts %s as the same mailbox',
    (address) => {
      expect(mailboxOf(address)).toBe('kim@xn--caf-dma.example');
    },
  );

  it('leaves the part before the domain, and what is no domain', () => {
    expect(mailboxOf('kim+a@example.org')).toBe('kim+a@example.org');
    expect(mailboxOf('kim@exa]mple')).toBe('kim@exa]mple');
  });
});

describe('roleOf', () => {
  it.each([
    ['admin', true, 'owner'],
    ['admin', false, 'admin'],
    ['member', true, 'member'],
    ['viewer', false, 'viewer'],
    ['auditor', false, 'billing'],
  ])('reads %s, owner: %s, as %s: what it does not know may do least', (role, owner, read) => {
    expect(roleOf({ role, owner })).toBe(read);
  });
});

describe('isAbove', () => {
  it('orders roles, viewer and billing beside each other', () => {
    const above = ROLES.map((one) => ROLES.filter((other) => isAbove(one, other)));
    expect(above).toEqual([ROLES.slice(1), ROLES.slice(2), ROLES.slice(3), [], []]);
  });
});
