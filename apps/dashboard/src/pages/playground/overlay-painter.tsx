import {
  ActionIcon,
  Button,
  ColorSwatch,
  Group,
  SegmentedControl,
  Slider,
  Stack,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useEffect, useLayoutEffect, useRef, useState, type CSSProperties, type PointerEvent } from 'react';
import {
  IconArrowBackUp,
  IconArrowForwardUp,
  IconBrush,
  IconEraser,
  IconHandStop,
  IconZoomIn,
  IconZoomOut,
} from '@tabler/icons-react';
import { Dialog } from '../../parts/dialog.tsx';
import { MAX_ZOOM, STEP, transformOf, WHOLE, zoomed, zoomText } from '../../parts/pan-zoom.ts';
import { usePanZoom } from '../../parts/use-pan-zoom.ts';
import { MaskArea, type Area } from './mask-area.tsx';
import type { Overlay } from './overlay.ts';

interface OverlayPainterProps {
  readonly opened: boolean;
  readonly file: File;
  /** What the model takes: at least one. */
  readonly kinds: readonly Overlay['kind'][];
  /** What was painted before; null: nothing. */
  readonly overlay: Overlay | null;
  /**
   * A mask is transparent where the model should repaint, markup where nothing was drawn; null: nothing is painted.
   */
  readonly onDone: (overlay: Overlay | null) => void;
  readonly onClose: () => void;
}

/** A pointer position on the page. */
type PointerPlace = Pick<globalThis.PointerEvent, 'clientX' | 'clientY'>;

/** A brush stroke, in pixels of the image. */
interface Line {
  readonly tool: 'brush' | 'eraser';
  readonly width: number;
  readonly color: string;
  readonly points: (readonly [x: number, y: number])[];
}

/** A brush stroke, a rectangle entered by keyboard, all that was not painted instead, or what was painted before. */
type Stroke =
  | Line
  | { readonly tool: 'invert' }
  | { readonly tool: Line['tool']; readonly color: string; readonly area: Area }
  | { readonly tool: 'brush'; readonly earlier: ImageBitmap; readonly kind: Overlay['kind'] };

/** The first one also shows the area of a mask. */
const COLORS = [
  ['Orange', 'rgb(242 96 28)'],
  ['Blue', 'rgb(28 100 242)'],
  ['Green', 'rgb(22 163 74)'],
  ['White', 'rgb(255 255 255)'],
  ['Black', 'rgb(0 0 0)'],
] as const;
const PAINT = COLORS[0][1];
/** How strongly an area is shown that the image remains visible in; markup is shown as it is sent. */
const STRENGTH = { mask: 0.6, markup: 1 };
/** Widths of the brush, in percent of the image's shorter edge. */
const WIDTHS = { mask: 8, markup: 1.5 };
const MIN_WIDTH = 0.5;
const MAX_WIDTH = 40;
/** Edge of the canvas until the image is read. */
const EMPTY = 300;
/** A step of the keys [ and ]. */
const WIDER = 1.25;

const WORDS = {
  mask: {
    name: 'Area to change',
    title: 'Paint the area to change',
    canvas: 'Image with the area to change painted over',
    note: 'The provider is asked to change only the painted areas. Some providers change the rest, too.',
    done: 'Use mask',
  },
  markup: {
    name: 'Drawing',
    title: 'Draw on the image',
    canvas: 'Image with what is drawn on it',
    note: 'Draw arrows, circles or shapes, and say in the prompt what they mean. They guide the provider.',
    done: 'Use markup',
  },
} as const;

/** Lets the user paint over the area to change, or draw markup. Stays mounted while closed, so that the focus returns to its opener. */
export function OverlayPainter({ opened, onClose, ...painting }: OverlayPainterProps) {
  const [unsaved, setUnsaved] = useState(false);
  return (
    <Dialog
      opened={opened}
      onClose={onClose}
      title={painting.kinds.length > 1 ? 'Paint over the image' : WORDS[painting.kinds[0] ?? 'mask'].title}
      size="xl"
      closeOnClickOutside={false}
      unsaved={unsaved}
    >
      <Painting onClose={onClose} onUnsaved={setUnsaved} {...painting} />
    </Dialog>
  );
}

/** The versions of a painting, to go back and forth between. */
interface History {
  readonly versions: readonly (readonly Stroke[])[];
  /** Index of the one that is shown. */
  readonly at: number;
}

interface PaintingProps extends Omit<OverlayPainterProps, 'opened'> {
  readonly onUnsaved: (unsaved: boolean) => void;
}

const NOTHING: readonly Stroke[] = [];

function Painting({ file, kinds, overlay, onDone, onClose, onUnsaved }: PaintingProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [image, setImage] = useState<ImageBitmap | null>(null);
  const [{ versions, at }, setHistory] = useState<History>({ versions: [NOTHING], at: 0 });
  const [before, setBefore] = useState(NOTHING);
  const strokes = versions[at] ?? NOTHING;
  const isChanged = strokes !== before && strokes.length + before.length > 0;
  // `move` moves the image instead of painting, where there is no wheel or not enough room.
  const [tool, setTool] = useState<Line['tool'] | 'move'>('brush');
  const painter = tool === 'eraser' ? 'eraser' : 'brush';
  const [view, setView] = useState(WHOLE);
  const panZoom = usePanZoom({ view, onView: setView });
  const [outline, setOutline] = useState<PointerPlace | null>(null);
  const [kind, setKind] = useState(
    overlay !== null && kinds.includes(overlay.kind) ? overlay.kind : (kinds[0] ?? 'mask'),
  );
  const [share, setShare] = useState(WIDTHS[kind]);
  const [color, setColor] = useState<string>(PAINT);
  const line = useRef<Line | null>(null);
  const pointer = useRef<number | null>(null);

  useEffect(() => {
    let gone = false;
    const painted = overlay === null ? null : createImageBitmap(overlay.image);
    void Promise.all([createImageBitmap(file), painted]).then(([bitmap, earlier]) => {
      if (gone) return;
      setImage(bitmap);
      if (earlier === null || overlay === null) return;
      const first: Stroke[] = [{ tool: 'brush', earlier, kind: overlay.kind }];
      setBefore(first);
      setHistory({ versions: [NOTHING, first], at: 1 });
    });
    return () => {
      gone = true;
    };
  }, [file, overlay]);
  useEffect(() => {
    if (canvas.current !== null && image !== null) show(canvas.current, image, strokes, kind);
  }, [image, strokes, kind]);

  // Not a moment later: an Escape right after the stroke asks, too.
  useLayoutEffect(() => {
    onUnsaved(isChanged);
    return () => onUnsaved(false);
  }, [isChanged, onUnsaved]);

  const change = (next: readonly Stroke[]) =>
    setHistory({ versions: [...versions.slice(0, at + 1), next], at: at + 1 });
  const goTo = (version: number) => {
    if (line.current === null && versions[version] !== undefined) setHistory({ versions, at: version });
  };
  const undo = () => goTo(at - 1);
  const redo = () => goTo(at + 1);
  // In the dialog's fields, too: with nothing to undo in them, browsers undo the prompt behind the dialog.
  useHotkeys(
    [
      ['mod+Z', undo],
      ['mod+shift+Z', redo],
      ['mod+Y', redo],
    ],
    [],
  );
  // Not in the fields, where these are characters.
  useHotkeys([
    ['[', () => setShare(Math.max(MIN_WIDTH, share / WIDER))],
    [']', () => setShare(Math.min(MAX_WIDTH, share * WIDER))],
  ]);
  const pointOf = (box: DOMRect, { clientX, clientY }: PointerPlace): readonly [number, number] => {
    const scale = (image?.width ?? box.width) / box.width;
    return [(clientX - box.left) * scale, (clientY - box.top) * scale];
  };
  const start = (event: PointerEvent<HTMLCanvasElement>) => {
    // One stroke at a time: ignores the palm next to a pen, a second finger, and the right button.
    if (image === null || tool === 'move' || line.current !== null || !event.isPrimary || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pointer.current = event.pointerId;
    const width = (Math.min(image.width, image.height) * share) / 100;
    line.current = {
      tool: painter,
      width,
      color,
      points: [pointOf(event.currentTarget.getBoundingClientRect(), event)],
    };
    show(event.currentTarget, image, [...strokes, line.current], kind);
  };
  const move = (event: PointerEvent<HTMLCanvasElement>) => {
    if (line.current === null || image === null || event.pointerId !== pointer.current) return;
    const box = event.currentTarget.getBoundingClientRect();
    // A pen reports more positions than there are frames.
    const places = event.nativeEvent.getCoalescedEvents();
    for (const place of places.length === 0 ? [event] : places) line.current.points.push(pointOf(box, place));
    show(event.currentTarget, image, [...strokes, line.current], kind);
  };
  // Erasing where nothing is painted changes nothing, so there is nothing to undo.
  const add = (stroke: Stroke) => {
    if (strokes.length > 0 || stroke.tool !== 'eraser') change([...strokes, stroke]);
  };
  const end = (event: PointerEvent<HTMLCanvasElement>) => {
    if (line.current === null || event.pointerId !== pointer.current) return;
    add(line.current);
    line.current = null;
  };
  const done = async () => {
    if (image !== null) onDone(strokes.length === 0 ? null : { kind, image: await exported(image, strokes, kind) });
    onClose();
  };
  // A disabled button would lose the focus.
  const onlyIf = (isUseful: boolean) => ({ 'data-disabled': !isUseful, 'aria-disabled': !isUseful });
  return (
    <Stack>
      {kinds.length > 1 && (
        <SegmentedControl
          aria-label="What to paint"
          value={kind}
          onChange={(value) => {
            const chosen = value === 'markup' ? 'markup' : 'mask';
            setKind(chosen);
            setShare(WIDTHS[chosen]);
          }}
          data={kinds.map((value) => ({ value, label: WORDS[value].name }))}
        />
      )}
      <Group justify="space-between" gap="sm">
        <SegmentedControl
          aria-label="Tool"
          value={tool}
          onChange={(value) => setTool(value === 'eraser' || value === 'move' ? value : 'brush')}
          data={[
            { value: 'brush', label: <Tool icon={<IconBrush size={15} />} name="Brush" /> },
            { value: 'eraser', label: <Tool icon={<IconEraser size={15} />} name="Eraser" /> },
            { value: 'move', label: <Tool icon={<IconHandStop size={15} />} name="Move" /> },
          ]}
        />
        <Group gap="xs" flex={1} miw={180} maw={280} wrap="nowrap">
          <Text size="sm">Size</Text>
          <Slider
            flex={1}
            min={MIN_WIDTH}
            step={MIN_WIDTH}
            max={MAX_WIDTH}
            value={share}
            onChange={setShare}
            label={null}
            thumbLabel="Brush size"
          />
        </Group>
        {kind === 'markup' && (
          <Group gap={6} role="group" aria-label="Color">
            {COLORS.map(([name, value]) => (
              <UnstyledButton
                key={name}
                aria-label={name}
                aria-pressed={color === value}
                className="swatch"
                onClick={() => setColor(value)}
              >
                <ColorSwatch component="span" color={value} size={22} />
              </UnstyledButton>
            ))}
          </Group>
        )}
        <Group gap="xs">
          <Button
            variant="default"
            size="xs"
            leftSection={<IconArrowBackUp size={14} />}
            {...onlyIf(at > 0)}
            onClick={undo}
          >
            Undo
          </Button>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconArrowForwardUp size={14} />}
            {...onlyIf(at < versions.length - 1)}
            onClick={redo}
          >
            Redo
          </Button>
          <Button
            variant="default"
            size="xs"
            {...onlyIf(strokes.length > 0)}
            onClick={() => {
              if (strokes.length > 0) change(NOTHING);
            }}
          >
            Clear
          </Button>
          {kind === 'mask' && (
            <Button variant="default" size="xs" onClick={() => add({ tool: 'invert' })}>
              Invert
            </Button>
          )}
        </Group>
        <Group gap={4} wrap="nowrap" role="group" aria-label="Zoom">
          <ActionIcon
            variant="default"
            aria-label="Zoom out"
            {...onlyIf(view.zoom > 1)}
            onClick={() => setView(zoomed(view, 1 / STEP))}
          >
            <IconZoomOut size={16} />
          </ActionIcon>
          <Text size="sm" className="numbers" w={48} ta="center" aria-live="polite">
            {zoomText(view)}
          </Text>
          <ActionIcon
            variant="default"
            aria-label="Zoom in"
            {...onlyIf(view.zoom < MAX_ZOOM)}
            onClick={() => setView(zoomed(view, STEP))}
          >
            <IconZoomIn size={16} />
          </ActionIcon>
        </Group>
      </Group>
      <div
        ref={panZoom.ref}
        className="mask-view"
        data-tool={tool}
        style={boxOf(image?.width ?? EMPTY, image?.height ?? EMPTY)}
        {...(tool === 'move' ? panZoom.handlers : {})}
        onPointerMoveCapture={(event) => setOutline(event.pointerType === 'touch' ? null : placeOf(event))}
        onPointerLeave={() => setOutline(null)}
      >
        <canvas
          ref={canvas}
          className="mask-canvas image-ground"
          width={image?.width ?? EMPTY}
          height={image?.height ?? EMPTY}
          role="img"
          aria-label={WORDS[kind].canvas}
          tabIndex={-1}
          data-autofocus
          style={{ transform: transformOf(view) }}
          onPointerDown={start}
          onPointerMove={move}
          onPointerUp={end}
          onPointerCancel={end}
        />
        {outline !== null && tool !== 'move' && image !== null && (
          <Outline at={outline} canvas={canvas.current} width={(Math.min(image.width, image.height) * share) / 100} />
        )}
      </div>
      <MaskArea tool={painter} onAdd={(area) => add({ tool: painter, color, area })} />
      <Text size="sm" c="dimmed">
        {WORDS[kind].note}
      </Text>
      <Group justify="flex-end" className="form-dialog-actions">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={() => void done()}>{WORDS[kind].done}</Button>
      </Group>
    </Stack>
  );
}

/** The largest box in the shape of the image that fits, and is no larger than the image. */
function boxOf(width: number, height: number): CSSProperties {
  return { aspectRatio: width / height, width: `min(100%, ${width}px, calc(50vh * ${width / height}))` };
}

function placeOf({ clientX, clientY }: PointerPlace): PointerPlace {
  return { clientX, clientY };
}

interface OutlineProps {
  readonly at: PointerPlace;
  readonly canvas: HTMLCanvasElement | null;
  /** In pixels of the image. */
  readonly width: number;
}

/** Where and how wide the brush would paint. */
function Outline({ at: { clientX, clientY }, canvas, width }: OutlineProps) {
  const box = canvas?.parentElement?.getBoundingClientRect();
  if (!box || canvas === null) return null;
  const edge = (width * canvas.getBoundingClientRect().width) / canvas.width;
  const look = { left: clientX - box.left - edge / 2, top: clientY - box.top - edge / 2, width: edge, height: edge };
  return <div className="brush-outline" aria-hidden style={look} />;
}

function Tool({ icon, name }: { readonly icon: React.ReactNode; readonly name: string }) {
  return (
    <Group gap={6} wrap="nowrap" justify="center">
      {icon}
      {name}
    </Group>
  );
}

function contextOf(canvas: HTMLCanvasElement | OffscreenCanvas) {
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser does not support painting.');
  return context;
}

function show(canvas: HTMLCanvasElement, image: ImageBitmap, strokes: readonly Stroke[], kind: Overlay['kind']): void {
  const context = contextOf(canvas);
  context.clearRect(0, 0, image.width, image.height);
  context.drawImage(image, 0, 0);
  context.globalAlpha = STRENGTH[kind];
  context.drawImage(paint(image, strokes, kind), 0, 0);
  context.globalAlpha = 1;
}

/** Only what is painted, on a transparent background; the area of a mask in one color. */
function paint({ width, height }: ImageBitmap, strokes: readonly Stroke[], kind: Overlay['kind']): OffscreenCanvas {
  const layer = new OffscreenCanvas(width, height);
  const context = contextOf(layer);
  context.lineCap = 'round';
  context.lineJoin = 'round';
  for (const stroke of strokes) {
    if (stroke.tool === 'invert') {
      if (kind === 'mask') invert(context, width, height);
      continue;
    }
    context.globalCompositeOperation = stroke.tool === 'eraser' ? 'destination-out' : 'source-over';
    if ('earlier' in stroke) {
      const { earlier } = stroke;
      context.drawImage(stroke.kind === 'mask' ? painted(earlier, width, height) : earlier, 0, 0, width, height);
      continue;
    }
    const color = kind === 'mask' ? PAINT : stroke.color;
    context.strokeStyle = color;
    context.fillStyle = color;
    if ('area' in stroke) {
      const [left, top, across, down] = stroke.area;
      context.fillRect((left * width) / 100, (top * height) / 100, (across * width) / 100, (down * height) / 100);
      continue;
    }
    const { width: lineWidth, points } = stroke;
    context.lineWidth = lineWidth;
    context.beginPath();
    const [first] = points;
    if (first !== undefined) context.lineTo(...first);
    for (const point of points) context.lineTo(...point);
    context.stroke();
  }
  return layer;
}

function invert(context: ReturnType<typeof contextOf>, width: number, height: number): void {
  context.globalCompositeOperation = 'source-out';
  context.fillStyle = PAINT;
  context.fillRect(0, 0, width, height);
}

/** The transparent areas of a mask, as painted areas. */
function painted(mask: ImageBitmap, width: number, height: number): OffscreenCanvas {
  const layer = new OffscreenCanvas(width, height);
  const context = contextOf(layer);
  context.fillStyle = PAINT;
  context.fillRect(0, 0, width, height);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(mask, 0, 0, width, height);
  return layer;
}

/** What is sent, without the image, so that the file is small: of a mask, opaque black with transparent painted areas. */
async function exported(image: ImageBitmap, strokes: readonly Stroke[], kind: Overlay['kind']): Promise<Blob> {
  if (kind === 'markup') return await paint(image, strokes, kind).convertToBlob({ type: 'image/png' });
  const mask = new OffscreenCanvas(image.width, image.height);
  const context = contextOf(mask);
  context.fillRect(0, 0, image.width, image.height);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(paint(image, strokes, kind), 0, 0);
  return await mask.convertToBlob({ type: 'image/png' });
}
