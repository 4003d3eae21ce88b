import sax from 'sax';
import { ImageError } from './image-error.js';

/** Largest SVG document, in bytes (4 MB): its text and what is written of it are in memory. */
const MAX_SVG_BYTES = 4_000_000;
/** Deepest nesting of elements; renderers call themselves for each. */
const MAX_DEPTH = 200;
const MAX_ELEMENTS = 100_000;
/** Longest edge, in pixels, that a document may declare. */
const MAX_EDGE = 16_383;

const SVG = 'http://www.w3.org/2000/svg';
const XLINK = 'http://www.w3.org/1999/xlink';

/** Elements that only draw. Others are left out with everything in them. */
const DRAWING = new Set(
  `svg g defs symbol use switch title desc path rect circle ellipse line polyline polygon text tspan textPath
  image marker pattern mask clipPath linearGradient radialGradient stop filter style
  animate animateMotion animateTransform mpath
  feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap
  feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode
  feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence`.split(/\s+/),
);

/** Elements that `use` may draw all together; each use may draw others. */
const MAX_USED = 100_000;

/** What a reference may lead to: a part of the document, or a raster image inside it. */
const OWN_REFERENCE = /^(?:#[^\s"'<>]*|data:image\/(?:png|jpeg|webp|gif);base64,[a-z0-9+/=\s]*)$/i;
const URLS = /url\(([^()]*)\)/gi;
/** CSS that loads files, or could hide that it does. */
const LOADING_CSS = /@import|@font-face|@namespace|image-set|src\s*:|expression|\\/i;

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
  parser.write(textOf(bytes)).close();
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
  private readonly uses = new Uses();
  private size: { readonly width: number; readonly height: number } | undefined;

  constructor(private readonly target: { readonly width: number; readonly height: number } | undefined) {}

  open({ local, uri, attributes }: sax.QualifiedTag): void {
    if (++this.elements > MAX_ELEMENTS) throw unusable('has too many elements');
    if (this.names.length + this.skipped >= MAX_DEPTH) throw unusable('is nested too deeply');
    const isRoot = this.elements === 1;
    if (isRoot && (local !== 'svg' || uri !== SVG)) throw unusable('has no svg element');
    if (this.skipped > 0 || uri !== SVG || !DRAWING.has(local) || setsReference(attributes)) {
      this.skipped++;
      // Editors' own metadata is harmless, and left out without a word.
      if (uri === SVG && local !== 'metadata') this.reduce();
      return;
    }
    const kept = Object.values(attributes).filter((attribute) => this.isKept(attribute));
    const named = kept.map(({ local: name, uri: space, value }) => [space === XLINK ? `xlink:${name}` : name, value]);
    const own = new Map(named as [string, string][]);
    if (isRoot) this.root(own);
    this.names.push(local);
    this.uses.open(own.get('id'), local === 'use' ? (own.get('href') ?? own.get('xlink:href')) : undefined);
    this.parts.push(`<${local}${[...own].map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')}>`);
  }

  close(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    const name = this.names.pop() ?? '';
    this.uses.close();
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
    if (this.uses.count() > MAX_USED) throw unusable('repeats its parts too often');
    const { width, height } = this.target ?? this.size;
    return {
      bytes: Buffer.from(this.parts.join('')),
      width,
      height,
      received: this.size,
      isReduced: this.isReduced,
    };
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

  /** Without a word: namespaces, which the root declares anew, and attributes of other vocabularies. */
  private isKept({ prefix, local, uri, name, value }: sax.QualifiedAttribute): boolean {
    if (prefix === 'xmlns' || name === 'xmlns') return false;
    if (uri !== '' && uri !== XLINK) return name === 'xml:base' && this.keep(false);
    if (/^on/i.test(local)) return this.keep(false);
    if (local === 'href') return this.keep(OWN_REFERENCE.test(value.trim()));
    if (uri === XLINK) return false;
    return this.keep(local === 'style' ? isOwnCss(value) : hasOwnUrls(value));
  }

  private keep(isSafe: boolean): boolean {
    if (!isSafe) this.reduce();
    return isSafe;
  }
}

/** An animation may set later what may not be set at once. */
function setsReference(attributes: sax.QualifiedTag['attributes']): boolean {
  return Object.values(attributes).some(
    ({ local, value }) => local === 'attributeName' && /href|style|^\s*on/i.test(value),
  );
}

/** Counts what `use` elements draw, which may grow exponentially with the document. */
class Uses {
  /** The ids of the open elements. */
  private readonly ids: (string | undefined)[] = [];
  /** What is used inside an element with an id, and in the whole document. */
  private readonly inside = new Map<string | undefined, string[]>([[undefined, []]]);
  private readonly counts = new Map<string, number>();

  open(id: string | undefined, used: string | undefined): void {
    this.ids.push(id);
    if (used === undefined) return;
    const name = used.trim().slice(1);
    for (const owner of new Set([undefined, ...this.ids])) {
      const known = this.inside.get(owner);
      if (known === undefined) this.inside.set(owner, [name]);
      else known.push(name);
    }
  }

  close(): void {
    this.ids.pop();
  }

  count(): number {
    return this.of(undefined);
  }

  private of(id: string | undefined): number {
    const known = this.counts.get(id ?? '');
    if (known !== undefined) return known;
    // Of a part that uses itself.
    this.counts.set(id ?? '', Infinity);
    const total = (this.inside.get(id) ?? []).reduce((sum, used) => sum + 1 + this.of(used), 0);
    this.counts.set(id ?? '', total);
    return total;
  }
}

function isOwnCss(css: string): boolean {
  return !LOADING_CSS.test(css) && hasOwnUrls(css);
}

/** Whether each `url()` leads to a part of the document. */
function hasOwnUrls(value: string): boolean {
  const rest = value.replaceAll(URLS, (whole, url: string) =>
    OWN_REFERENCE.test(url.trim().replace(/^(['"])(.*)\1$/s, '$2')) ? '' : whole,
  );
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
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function unusable(what: string, cause?: unknown): ImageError {
  return new ImageError('invalid_image_file', `The SVG document ${what}.`, cause);
}
