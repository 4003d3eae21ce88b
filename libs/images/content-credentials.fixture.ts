import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  AuthorityKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { JPEG, PNG } from '@trustnxt/c2pa-ts/asset';
import { CoseAlgorithmIdentifier, LocalSigner } from '@trustnxt/c2pa-ts/cose';
import { SuperBox } from '@trustnxt/c2pa-ts/jumbf';
import {
  ActionAssertion,
  ActionType,
  DataHashAssertion,
  DigitalSourceType,
  ManifestStore,
} from '@trustnxt/c2pa-ts/manifest';
import { randomUUID, webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
const ASSETS = { png: PNG, jpeg: JPEG } as const;

/**
 * Signs an image the way a provider does, with C2PA credentials from a test certificate. `padding` makes them larger; a
 * JPEG segment holds up to 65 KB.
 */
export async function withCredentials(image: Buffer, type: 'png' | 'jpeg', padding = 100): Promise<Buffer> {
  const signer = await testSigner();
  const asset = new ASSETS[type](new Uint8Array(image));
  const store = new ManifestStore();
  const manifest = store.createManifest({
    assetFormat: `image/${type}`,
    instanceID: `xmp:iid:${randomUUID()}`,
    defaultHashAlgorithm: 'SHA-256',
    signer,
  });
  const digest = DataHashAssertion.create('SHA-256', padding);
  manifest.addAssertion(digest);
  const created = new ActionAssertion();
  created.actions.push({
    action: ActionType.C2paCreated,
    digitalSourceType: DigitalSourceType.TrainedAlgorithmicMedia,
  });
  manifest.addAssertion(created);
  await asset.ensureManifestSpace(store.measureSize());
  await digest.updateWithAsset(asset);
  await manifest.sign(signer);
  await asset.writeManifestJUMBF(store.getBytes());
  return Buffer.from(await asset.getDataRange());
}

/** Validates a file's credentials: every status that the validator reports, or that there are none. */
export async function credentialsOf(image: Buffer, type: 'png' | 'jpeg'): Promise<{ valid: boolean; found: string[] }> {
  const asset = new ASSETS[type](new Uint8Array(image));
  const boxes = asset.getManifestJUMBF();
  if (boxes === undefined) return { valid: false, found: [] };
  const result = await ManifestStore.read(SuperBox.fromBuffer(new Uint8Array(boxes))).validate(asset);
  return { valid: result.isValid, found: result.statusEntries.map(({ code }) => code) };
}

async function testSigner(): Promise<LocalSigner> {
  const { subtle } = webcrypto;
  const [root, leaf] = await Promise.all([
    subtle.generateKey(ALGORITHM, true, ['sign', 'verify']),
    subtle.generateKey(ALGORITHM, true, ['sign', 'verify']),
  ]);
  const certificate = await X509CertificateGenerator.create({
    serialNumber: '01',
    issuer: 'CN=Test root',
    subject: 'CN=Test provider',
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: leaf.publicKey,
    signingKey: root.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.emailProtection]),
      await AuthorityKeyIdentifierExtension.create(root.publicKey),
    ],
  });
  const key = new Uint8Array(await subtle.exportKey('pkcs8', leaf.privateKey));
  return new LocalSigner(key, CoseAlgorithmIdentifier.ES256, certificate);
}
