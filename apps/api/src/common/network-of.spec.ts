import { jest } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { networkOf, plainAddress, plainAddresses } from './network-of.js';

describe('the address of a caller', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    // Azure's Application Gateway adds the port.
    ['203.0.113.7:51324', '203.0.113.7'],
    ['"203.0.113.7:51324"', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['"[2001:db8::1]:443"', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:80', 'fe80::1'],
    ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
    [' 203.0.113.7 ', '203.0.113.7'],
  ])('is read from %s', (text, address) => {
    expect(plainAddress(text)).toBe(address);
  });

  it.each(['unknown', '_hidden', '', '203.0.113.7:port', 'for=203.0.113.7', '[2001:db8::1', '999.1.1.1:80'])(
    'is not read from %j',
    (text) => {
      expect(plainAddress(text)).toBe(text);
      expect(networkOf(text)).toBe('unknown');
    },
  );

  it('is read from each entry of a list', () => {
    expect(plainAddresses('203.0.113.7:51324,"[2001:db8::1]:443" , unknown')).toBe('203.0.113.7, 2001:db8::1, unknown');
  });

  it('H1: is read from the end of a list, however long that is', () => {
    const read = jest.spyOn(ipaddr, 'isValid');
    for (const entry of [',', 'a,', '::,', `${'1'.repeat(500)},`]) {
      read.mockClear();
      const list = plainAddresses(`${entry.repeat(15_000)}198.51.100.1, 203.0.113.7:51324`);
      expect(list.endsWith('198.51.100.1, 203.0.113.7')).toBe(true);
      expect(read.mock.calls.length).toBeLessThanOrEqual(16);
    }
    read.mockRestore();
  });
});
