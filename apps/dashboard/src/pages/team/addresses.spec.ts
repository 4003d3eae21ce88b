import { addressesIn } from './addresses.ts';

describe('addresses in a pasted text', () => {
  it.each([
    ['', []],
    [' ada@example.org ', ['ada@example.org']],
    ['a@x.org, b@x.org;c@x.org\nd@x.org e@x.org', ['a@x.org', 'b@x.org', 'c@x.org', 'd@x.org', 'e@x.org']],
    ['Ada Lovelace <ada@example.org>,\r\n"Kim" <kim@example.org>', ['ada@example.org', 'kim@example.org']],
    ['a@x.org\nA@X.org', ['a@x.org']],
    ['not an address', ['not', 'an', 'address']],
  ])('%j', (text, addresses) => {
    expect(addressesIn(text)).toEqual(addresses);
  });
});
