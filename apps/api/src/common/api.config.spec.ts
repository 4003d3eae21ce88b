import { ConfigError, loadConfig } from '#config/load-config.js';
import { ApiConfig } from './api.config.js';
import { networksMatcher } from './network-of.js';

describe('TRUSTED_PROXIES', () => {
  it('takes addresses and networks', () => {
    const [config] = loadConfig([ApiConfig], { TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, ::1, fd00::/8' });
    expect(config.trustedProxies).toEqual(['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']);
    expect(loadConfig([ApiConfig], {})[0].trustedProxies).toEqual([]);
  });

  it.each(['balancer', '0.0.0.0/0', '::/0', '10.0.0.0/33', '127.0.0.1, true'])('refuses %s', (text) => {
    expect(() => loadConfig([ApiConfig], { TRUSTED_PROXIES: text })).toThrow(ConfigError);
  });
});

describe('networksMatcher', () => {
  const isProxy = networksMatcher(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);

  it.each(['127.0.0.1', '10.255.0.1', '::ffff:10.0.0.1', 'fd12::1'])('knows %s', (address) => {
    expect(isProxy(address)).toBe(true);
  });

  it.each(['127.0.0.2', '11.0.0.1', '::ffff:11.0.0.1', 'fe80::1', 'x', undefined])('does not know %s', (address) => {
    expect(isProxy(address)).toBe(false);
  });
});
