import { loadConfig } from '#config/load-config.js';
import { endpointOf, StorageConfig } from './storage.config.js';

function load(env: Record<string, string>): StorageConfig {
  return loadConfig([StorageConfig] as const, env)[0];
}

describe('StorageConfig', () => {
  it('needs nothing on disk', () => {
    expect(load({})).toMatchObject({ storage: 'disk', dataDir: '.data', s3Links: 'proxy', linkTtlSeconds: 86_400 });
  });

  it('names all that S3 needs, and no value', () => {
    const problems = /S3_BUCKET must[^]*S3_ACCESS_KEY_ID must[^]*S3_SECRET_ACCESS_KEY must/;
    expect(() => load({ STORAGE: 's3' })).toThrow(problems);
    expect(() => load({ STORAGE: 's3', S3_SECRET_ACCESS_KEY: 'a secret' })).not.toThrow(/a secret/);
  });

  it('names an endpoint that is no address', () => {
    expect(() => load({ S3_ENDPOINT: 'minio:9000' })).toThrow('S3_ENDPOINT');
    expect(load({ S3_ENDPOINT: 'http://minio:9000' }).s3Endpoint).toBe('http://minio:9000');
    expect(load({ S3_ENDPOINT: 'https://files.example.org/s3/' }).s3Endpoint).toBe('https://files.example.org/s3/');
  });

  it.each([
    'https://key:secret@files.example.org',
    'https://files.example.org?bucket=images',
    'https://files.example.org#images',
    's3://images',
  ])('names an endpoint of which something would be left out: %s', (endpoint) => {
    for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT']) expect(() => load({ [name]: endpoint })).toThrow(name);
    expect(() => load({ S3_ENDPOINT: endpoint })).not.toThrow(/secret@/);
  });

  it('knows the address of AWS in a region, also in China', () => {
    expect(endpointOf(load({ S3_REGION: 'eu-west-1' }))).toBe('https://s3.eu-west-1.amazonaws.com');
    expect(endpointOf(load({ S3_REGION: 'cn-north-1' }))).toBe('https://s3.cn-north-1.amazonaws.com.cn');
    expect(() => load({ S3_REGION: 'eu-west-1.evil.example/' })).toThrow('S3_REGION');
  });
});
