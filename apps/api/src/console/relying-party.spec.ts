import { relyingPartyOf } from './relying-party.js';

describe('relyingPartyOf', () => {
  it.each([
    ['https://images.example.org', { id: 'images.example.org', origin: 'https://images.example.org' }],
    ['https://images.example.org:8443/sub', { id: 'images.example.org', origin: 'https://images.example.org:8443' }],
    ['http://localhost:3000', { id: 'localhost', origin: 'http://localhost:3000' }],
    ['http://127.0.0.1:3000', { id: 'localhost', origin: 'http://localhost:3000' }],
    ['http://[::1]:3000', { id: 'localhost', origin: 'http://localhost:3000' }],
    ['http://images.example.org', null],
    ['http://0.0.0.0:3000', null],
    ['https://192.0.2.7', null],
    ['https://[2001:db8::7]', null],
  ])('%s', (publicUrl, party) => {
    expect(relyingPartyOf(publicUrl)).toEqual(party);
  });
});
