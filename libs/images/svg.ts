import sax from 'sax';
import { ImageError } from './image-error.js';

/** Largest SVG document, in bytes (4 MB): its text and what is written of it are in memory. */
const MAX_SVG_BYTES = 4_000_000;
/** Deepest nesting of elements; renderers call themselves for each. */
const MAX_DEPTH = 200;
const MAX_ELEMENTS = 100_000;
/** Elements that a renderer draws, with those that others refer to each time. */
const MAX_DRAWN = 1_000_000;
/** Longest chain of references. */
const MAX_CHAIN = 500;
/** Most attributes of an element: the parser compares each with all others. */
const MAX_ATTRIBUTES = 1_000;
/** Characters parsed between two looks at the attributes. */
const PIECE = 16_384;
/** Longest edge, in pixels, that a document may declare. */
const MAX_EDGE = 16_383;

const SVG = 'http://www.w3.org/2000/svg';
const XLINK = 'http://www.w3.org/1999/xlink';

/** Elements that only draw. Others are left out with everything in them. */
const DRAWING = wordsOf(`svg g defs symbol use switch title desc path rect circle ellipse line polyline polygon
  text tspan textPath image marker pattern mask clipPath linearGradient radialGradient stop filter style
  animate animateMotion animateTransform mpath
  feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
  feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode
  feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence`);
/** Elements in which HTML parsers would read others as HTML. */
const TEXT_ONLY = wordsOf('title desc style');

/** Attributes that say how to draw; href apart. */
const DESCRIBING = wordsOf(`id class style lang transform transform-origin transform-box viewBox preserveAspectRatio
  version baseProfile requiredExtensions systemLanguage role
  x y x1 y1 x2 y2 cx cy r rx ry width height d points pathLength dx dy rotate textLength lengthAdjust startOffset
  method spacing side
  alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation color-interpolation-filters
  color-rendering direction display dominant-baseline fill fill-opacity fill-rule filter flood-color flood-opacity
  font font-family font-size font-size-adjust font-stretch font-style font-variant font-weight
  glyph-orientation-horizontal glyph-orientation-vertical image-rendering isolation letter-spacing lighting-color
  marker marker-end marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order pointer-events
  shape-rendering stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
  stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering unicode-bidi
  vector-effect visibility white-space word-spacing writing-mode
  gradientUnits gradientTransform spreadMethod offset fx fy fr
  patternUnits patternContentUnits patternTransform maskUnits maskContentUnits clipPathUnits markerUnits markerWidth
  markerHeight refX refY orient
  filterUnits primitiveUnits in in2 result type values mode operator k1 k2 k3 k4 order kernelMatrix divisor bias
  targetX targetY edgeMode preserveAlpha surfaceScale diffuseConstant kernelUnitLength specularConstant
  specularExponent limitingConeAngle pointsAtX pointsAtY pointsAtZ azimuth elevation z scale xChannelSelector
  yChannelSelector stdDeviation radius baseFrequency numOctaves seed stitchTiles tableValues slope intercept amplitude
  exponent
  attributeName attributeType begin dur end min max restart repeatCount repeatDur from to by keyTimes keySplines
  keyPoints calcMode additive accumulate path origin`);
/** Attributes that would run or load something; others that do not describe a drawing have no effect. */
const ACTIVE = /^on|src|href|data$/i;

/** What a reference may lead to: a part of the document, or a raster image inside it. */
const PART = /^#[^\s"'<>]*$/;
const OWN_IMAGE = /^data:image\/(?:png|jpeg|webp|gif);base64,[a-z0-9+/=\s]*$/i;
const URLS = /url\(([^()]*)\)/gi;
/** CSS that loads files, or could hide that it does. */
const LOADING_CSS = /@import|@font-face|@namespace|image-set|\bimage\s*\(|\bsrc\s*[(:]|expression|\\/i;
const CONTROL = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

// The whole document is bounded, and one path may be most of it.
Object.assign(sax, { MAX_BUFFER_LENGTH: MAX_SVG_BYTES });

/** A document that only draws. */
export interface SafeSvg {
  readonly bytes: Buffer;
  /** In pixels, rounded. */
  readonly width: number;
  readonly height: number;
  /** The size that it declared before, in pixels, rounded. */
  readonly received: { readonly width: number; readonly height: number };
  /** Whether parts were left out that could run scripts or load files. */
  readonly isReduced: boolean;
}

/**
 * Writes an SVG document anew, with only what draws: no scripts, no links, no references to anything outside it. With a
 * `target`, in pixels, it is shown at that size. Throws ImageError for anything that is not an SVG document.
 */
export function safeSvg(
  bytes: Buffer,
  target: { readonly width: number; readonly height: number } | undefined,
): SafeSvg {
  if (bytes.length > MAX_SVG_BYTES) throw unusable('is too large');
  const writer = new SvgWriter(target);
  const parser = sax.parser(true, { xmlns: true, position: false });
  parser.onerror = (error) => {
    throw unusable('is not well-formed XML', error);
  };
  parser.onopentag = (tag) => writer.open(tag as sax.QualifiedTag);
  parser.onclosetag = () => writer.close();
  parser.ontext = (text) => writer.text(text);
  parser.oncdata = (text) => writer.text(text);
  parser.ondoctype = () => writer.reduce();
  parser.onprocessinginstruction = ({ name }) => {
    if (name !== 'xml') writer.reduce();
  };
  const text = textOf(bytes);
  for (let at = 0; at < text.length; at += PIECE) {
    parser.write(text.slice(at, at + PIECE));
    const { attribList } = parser as unknown as { readonly attribList?: readonly unknown[] };
    if ((attribList?.length ?? 0) > MAX_ATTRIBUTES) throw unusable('has an element with too many attributes');
  }
  parser.close();
  return writer.end();
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw unusable('is not UTF-8', cause);
  }
}

class SvgWriter {
  private readonly parts: string[] = [];
  /** Names of the open elements that are written. */
  private readonly names: string[] = [];
  /** How many open elements are left out. */
  private skipped = 0;
  private elements = 0;
  private isReduced = false;
  private style = '';
  private readonly references = new References();
  private size: { readonly width: number; readonly height: number } | undefined;

  constructor(private readonly target: { readonly width: number; readonly height: number } | undefined) {}

  open({ local, uri, attributes }: sax.QualifiedTag): void {
    if (++this.elements > MAX_ELEMENTS) throw unusable('has too many elements');
    const depth = this.names.length + this.skipped;
    if (depth >= MAX_DEPTH) throw unusable('is nested too deeply');
    const isRoot = this.elements === 1;
    if (depth === 0 && (!isRoot || local !== 'svg' || uri !== SVG)) throw unusable('has no single svg element');
    const isText = TEXT_ONLY.has(this.names.at(-1) ?? '');
    if (this.skipped > 0 || isText || uri !== SVG || !DRAWING.has(local) || setsReference(attributes)) {
      this.skipped++;
      // Editors' own metadata is harmless, and left out without a word.
      if (uri === SVG && local !== 'metadata') this.reduce();
      return;
    }
    const kept = Object.values(attributes).filter((attribute) => this.isKept(attribute));
    const own = new Map(kept.map((attribute) => [writtenName(attribute), attribute.value]));
    if (isRoot) this.root(own);
    this.names.push(local);
    this.references.open(own);
    this.parts.push(`<${local}${[...own].map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')}>`);
  }

  close(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    const name = this.names.pop() ?? '';
    this.references.close();
    if (name === 'style') {
      if (isOwnCss(this.style)) this.parts.push(escaped(this.style));
      else this.reduce();
      this.style = '';
    }
    this.parts.push(`</${name}>`);
  }

  text(text: string): void {
    if (this.skipped > 0) return;
    if (this.names.at(-1) === 'style') this.style += text;
    else this.parts.push(escaped(text));
  }

  reduce(): void {
    this.isReduced = true;
  }

  end(): SafeSvg {
    if (this.size === undefined) throw unusable('has no svg element');
    if (this.references.drawn() > MAX_DRAWN) throw unusable('repeats its parts too often');
    const { width, height } = this.target ?? this.size;
    const bytes = Buffer.from(this.parts.join(''));
    return { bytes, width, height, received: this.size, isReduced: this.isReduced };
  }

  /** The root says its size in pixels; what it showed before fills that. */
  private root(attributes: Map<string, string>): void {
    const box = (attributes.get('viewBox') ?? '')
      .trim()
      .split(/[\s,]+/)
      .map(Number);
    const inBox = box.length === 4 && box.every(Number.isFinite) ? box : undefined;
    const width = pixelsOf(attributes.get('width')) ?? inBox?.[2];
    const height = pixelsOf(attributes.get('height')) ?? inBox?.[3];
    if (!isEdge(width) || !isEdge(height)) throw unusable('declares no usable size');
    this.size = { width: Math.max(1, Math.round(width)), height: Math.max(1, Math.round(height)) };
    if (inBox === undefined) attributes.set('viewBox', `0 0 ${width} ${height}`);
    const shown = this.target ?? this.size;
    attributes.set('width', String(shown.width));
    attributes.set('height', String(shown.height));
    attributes.set('xmlns', SVG);
    attributes.set('xmlns:xlink', XLINK);
  }

  /** Without a word: namespaces, which the root declares anew, and what describes no drawing. */
  private isKept({ prefix, local, uri, name, value }: sax.QualifiedAttribute): boolean {
    if (prefix === 'xmlns' || name === 'xmlns') return false;
    if (name === 'xml:space' || name === 'xml:lang') return true;
    if (local === 'href' && (uri === '' || uri === XLINK)) return this.keep(isOwn(value));
    if (uri !== '' || !DESCRIBING.has(local)) return this.keep(!ACTIVE.test(local) && name !== 'xml:base') && false;
    return this.keep(isOwnCss(value));
  }

  private keep(isSafe: boolean): boolean {
    if (!isSafe) this.reduce();
    return isSafe;
  }
}

function writtenName({ local, uri, name }: sax.QualifiedAttribute): string {
  if (uri === XLINK) return `xlink:${local}`;
  return uri === '' ? local : name;
}

/** An animation may set later what may not be set at once. */
function setsReference(attributes: sax.QualifiedTag['attributes']): boolean {
  return Object.values(attributes).some(
    ({ local, value }) => local === 'attributeName' && !DESCRIBING.has(value.trim()),
  );
}

/** The parts that an element is in, and refers to: what is drawn may grow exponentially with the document. */
interface Part {
  /** Elements in it, apart from those of parts inside it. */
  elements: number;
  readonly uses: string[];
  readonly inside: Part[];
  drawn?: number;
}

/** Counts what is drawn, each part as often as something refers to it. */
class References {
  private readonly document: Part = { elements: 0, uses: [], inside: [] };
  private readonly named = new Map<string, Part>();
  /** The part of each open element. */
  private readonly parts: Part[] = [];

  open(attributes: ReadonlyMap<string, string>): void {
    const around = this.parts.at(-1) ?? this.document;
    const id = attributes.get('id');
    const part = id === undefined ? around : this.partIn(around, id);
    part.elements++;
    for (const value of attributes.values()) part.uses.push(...partsNamedBy(value));
    this.parts.push(part);
  }

  close(): void {
    this.parts.pop();
  }

  drawn(): number {
    return this.drawnBy(this.document, 0);
  }

  private partIn(around: Part, id: string): Part {
    const known = this.named.get(id);
    const part = known ?? { elements: 0, uses: [], inside: [] };
    this.named.set(id, part);
    if (known === undefined) around.inside.push(part);
    return part;
  }

  private drawnBy(part: Part, depth: number): number {
    if (part.drawn !== undefined) return part.drawn;
    if (depth > MAX_CHAIN) return Infinity;
    // Of a part that draws itself.
    part.drawn = Infinity;
    let total = part.elements;
    for (const inner of part.inside) total += this.drawnBy(inner, depth + 1);
    for (const name of part.uses) {
      const used = this.named.get(name);
      total += used === undefined ? 1 : this.drawnBy(used, depth + 1);
    }
    part.drawn = total;
    return total;
  }
}

/** The parts of the document that an attribute refers to. */
function partsNamedBy(value: string): string[] {
  const whole = trimmed(value);
  const references = whole.startsWith('#') ? [whole] : [...value.matchAll(URLS)].map(([, url = '']) => unquoted(url));
  return references.flatMap((reference) => partOf(trimmed(reference)) ?? []);
}

/** Undefined for a reference to anything else, or one that can't be decoded. */
function partOf(reference: string): string | undefined {
  if (!PART.test(reference)) return undefined;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
}

function isOwn(reference: string): boolean {
  const url = trimmed(reference);
  return partOf(url) !== undefined || OWN_IMAGE.test(url);
}

/** As readers of URLs do; other spaces are part of a URL. */
function trimmed(text: string): string {
  const isSpace = (at: number): boolean => ' \t\n\f\r'.includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && isSpace(start)) start++;
  while (end > start && isSpace(end - 1)) end--;
  return text.slice(start, end);
}

function unquoted(text: string): string {
  return trimmed(text).replace(/^(['"])(.*)\1$/s, '$2');
}

/** Whether CSS, which attributes contain too, refers to nothing outside the document. */
function isOwnCss(css: string): boolean {
  if (LOADING_CSS.test(css)) return false;
  const rest = css.replaceAll(URLS, (whole, url: string) => (isOwn(unquoted(url)) ? '' : whole));
  return !/url\s*\(|(?:java|vb)script\s*:/i.test(rest);
}

/** Undefined for percentages and units that depend on where the document is shown. */
function pixelsOf(length: string | undefined): number | undefined {
  const found = /^\s*(\d{1,6}(?:\.\d{1,6})?)(?:px)?\s*$/.exec(length ?? '');
  return found === null ? undefined : Number(found[1]);
}

function isEdge(value: number | undefined): value is number {
  return value !== undefined && value > 0 && value <= MAX_EDGE;
}

function escaped(text: string): string {
  return text
    .replaceAll(CONTROL, '\u{fffd}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

function unusable(what: string, cause?: unknown): ImageError {
  return new ImageError('invalid_image_file', `The SVG document ${what}.`, cause);
}
