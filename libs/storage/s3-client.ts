import { S3Client } from '@aws-sdk/client-s3';
import { endpointOf, type StorageConfig } from './storage.config.js';

/** A store that is up accepts a connection long before this; the request is then tried again. */
const CONNECT_MS = 5_000;

/** Client for the configured store; time and attempts of each request are limited. */
export function createS3Client(config: StorageConfig): S3Client {
  const sockets = { maxSockets: config.s3Connections };
  return new S3Client({
    region: config.s3Region,
    endpoint: endpointOf(config),
    // The environment of AWS programs may say otherwise, and links are made without it.
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    useAccelerateEndpoint: false,
    credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
    forcePathStyle: config.s3ForcePathStyle,
    maxAttempts: config.s3Attempts,
    // Checksums only where the protocol requires them: many compatible stores reject the others.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: config.s3TimeoutMs,
      throwOnRequestTimeout: true,
      // storedStream limits the time of reads; a socket timeout would cut off slow readers.
      socketTimeout: 0,
      httpAgent: sockets,
      httpsAgent: sockets,
    },
  });
}
