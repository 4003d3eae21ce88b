import { AddressRules } from './address-rules.js';

const EVERYTHING = ['0.0.0.0/0', '::/0'];
const production = new AddressRules({ allowCidrs: [], nodeEnv: 'production' });
const generous = new AddressRules({ allowCidrs: EVERYTHING, nodeEnv: 'production' });
const development = new AddressRules({
  allowCidrs: ['127.0.0.0/8', '10.1.0.0/16', 'fd00:1::/32'],
  nodeEnv: 'development',
});

describe('AddressRules', () => {
  it.each([
    '1.1.1.1',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '64:ff9b::101:101',
    '2002:101:101::1',
    '::ffff:8.8.8.8',
  ])('permits the public address %s', (address) => expect(production.permits(address)).toBe(true));

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1'],
    ...['255.255.255.255', '168.63.129.16', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe'],
    ...['::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:1', '2002:7f00:1::'],
    ...['2002:a00:1::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:db8::1', '3fff::1', '5f00::1', '100::1'],
    ...[
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      '2001:20::1',
      '4000::1',
      'nonsense',
      '',
    ],
  ])('refuses %s', (address) => expect(production.permits(address)).toBe(false));

  it.each([
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '0.0.0.0',
    '224.0.0.1',
  ])('refuses %s in production even when every network is allowed', (address) =>
    expect(generous.permits(address)).toBe(false),
  );

  it('reaches the private networks that the settings allow, and only those', () => {
    expect(generous.permits('10.0.0.1')).toBe(true);
    expect(generous.permits('fd00::1')).toBe(true);
    expect(development.permits('10.1.2.3')).toBe(true);
    expect(development.permits('::ffff:10.1.2.3')).toBe(true);
    expect(development.permits('fd00:1::7')).toBe(true);
    expect(development.permits('10.2.0.1')).toBe(false);
    expect(development.permits('fd00:2::7')).toBe(false);
  });

  it('reaches loopback outside production only where the settings name it', () => {
    expect(development.permits('127.0.0.1')).toBe(true);
    expect(development.permits('::1')).toBe(false);
    expect(development.permits('169.254.169.254')).toBe(false);
  });
});
