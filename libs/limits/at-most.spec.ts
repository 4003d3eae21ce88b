import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.js';

describe('atMost', () => {
  it('bounds a cache, which forgets what was used least recently', () => {
    const cache = new LRUCache<string, number>({ ...atMost(3), ttl: 60_000 });
    for (const [at, name] of ['a', 'b', 'c'].entries()) cache.set(name, at);
    cache.get('a');
    cache.set('d', 3);
    expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
  });
});
