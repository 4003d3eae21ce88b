import { Button, Group, SegmentedControl, Slider, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState, type PointerEvent } from 'react';
import { IconArrowBackUp, IconBrush, IconEraser } from '@tabler/icons-react';
import { Dialog } from '../../parts/dialog.tsx';
import { MaskArea, type Area } from './mask-area.tsx';

interface MaskPainterProps {
  readonly opened: boolean;
  readonly file: File;
  /** The earlier mask; null: none. */
  readonly mask: Blob | null;
  /** A PNG of the image's size, transparent where the model should repaint; null: nothing is painted. */
  readonly onDone: (mask: Blob | null) => void;
  readonly onClose: () => void;
}

/** A pointer position on the page. */
type PointerPlace = Pick<globalThis.PointerEvent, 'clientX' | 'clientY'>;

/** A brush stroke, in pixels of the image. */
interface Line {
  readonly tool: 'brush' | 'eraser';
  readonly width: number;
  readonly points: (readonly [x: number, y: number])[];
}

/** A brush stroke, a rectangle entered by keyboard, or an earlier mask. */
type Stroke =
  Line | { readonly tool: Line['tool']; readonly area: Area } | { readonly tool: 'brush'; readonly mask: ImageBitmap };

const PAINT = 'rgb(242 96 28)';
const SHOWN_STRENGTH = 0.6;

/** Lets the user paint over the area to change. Stays mounted while closed, so that the focus returns to its opener. */
export function MaskPainter({ opened, onClose, ...painting }: MaskPainterProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title="Paint the area to change" size="xl" closeOnClickOutside={false}>
      <Painting onClose={onClose} {...painting} />
    </Dialog>
  );
}

function Painting({ file, mask, onDone, onClose }: Omit<MaskPainterProps, 'opened'>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [image, setImage] = useState<ImageBitmap | null>(null);
  const [strokes, setStrokes] = useState<readonly Stroke[]>([]);
  const [tool, setTool] = useState<Line['tool']>('brush');
  const [share, setShare] = useState(8);
  const line = useRef<Line | null>(null);
  const pointer = useRef<number | null>(null);

  useEffect(() => {
    let gone = false;
    void Promise.all([createImageBitmap(file), mask === null ? null : createImageBitmap(mask)]).then(
      ([bitmap, before]) => {
        if (gone) return;
        setImage(bitmap);
        if (before !== null) setStrokes((drawn) => [{ tool: 'brush', mask: before }, ...drawn]);
      },
    );
    return () => {
      gone = true;
    };
  }, [file, mask]);
  useEffect(() => {
    if (canvas.current !== null && image !== null) show(canvas.current, image, strokes);
  }, [image, strokes]);

  const pointOf = (box: DOMRect, { clientX, clientY }: PointerPlace): readonly [number, number] => {
    const scale = (image?.width ?? box.width) / box.width;
    return [(clientX - box.left) * scale, (clientY - box.top) * scale];
  };
  const start = (event: PointerEvent<HTMLCanvasElement>) => {
    // One stroke at a time: ignores the palm next to a pen, a second finger, and the right button.
    if (image === null || line.current !== null || !event.isPrimary || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pointer.current = event.pointerId;
    const width = (Math.min(image.width, image.height) * share) / 100;
    line.current = { tool, width, points: [pointOf(event.currentTarget.getBoundingClientRect(), event)] };
    show(event.currentTarget, image, [...strokes, line.current]);
  };
  const move = (event: PointerEvent<HTMLCanvasElement>) => {
    if (line.current === null || image === null || event.pointerId !== pointer.current) return;
    const box = event.currentTarget.getBoundingClientRect();
    // A pen reports more positions than there are frames.
    const places = event.nativeEvent.getCoalescedEvents();
    for (const place of places.length === 0 ? [event] : places) line.current.points.push(pointOf(box, place));
    show(event.currentTarget, image, [...strokes, line.current]);
  };
  // Erasing an empty mask changes nothing, so there is nothing to undo.
  const add = (stroke: Stroke) => {
    if (strokes.length > 0 || stroke.tool === 'brush') setStrokes([...strokes, stroke]);
  };
  const end = (event: PointerEvent<HTMLCanvasElement>) => {
    if (line.current === null || event.pointerId !== pointer.current) return;
    add(line.current);
    line.current = null;
  };
  const done = async () => {
    if (image !== null) onDone(strokes.length === 0 ? null : await exportMask(image, strokes));
    onClose();
  };
  // A disabled button would lose the focus.
  const unlessEmpty = { 'data-disabled': strokes.length === 0, 'aria-disabled': strokes.length === 0 };
  return (
    <Stack>
      <Group justify="space-between" gap="sm">
        <SegmentedControl
          aria-label="Tool"
          value={tool}
          onChange={(value) => setTool(value === 'eraser' ? 'eraser' : 'brush')}
          data={[
            { value: 'brush', label: <Tool icon={<IconBrush size={15} />} name="Brush" /> },
            { value: 'eraser', label: <Tool icon={<IconEraser size={15} />} name="Eraser" /> },
          ]}
        />
        <Group gap="xs" flex={1} miw={180} maw={280} wrap="nowrap">
          <Text size="sm">Size</Text>
          <Slider flex={1} min={1} max={40} value={share} onChange={setShare} label={null} thumbLabel="Brush size" />
        </Group>
        <Group gap="xs">
          <Button
            variant="default"
            size="xs"
            leftSection={<IconArrowBackUp size={14} />}
            {...unlessEmpty}
            onClick={() => setStrokes(strokes.slice(0, -1))}
          >
            Undo
          </Button>
          <Button variant="default" size="xs" {...unlessEmpty} onClick={() => setStrokes([])}>
            Clear
          </Button>
        </Group>
      </Group>
      <canvas
        ref={canvas}
        className="mask-canvas image-ground"
        width={image?.width ?? 300}
        height={image?.height ?? 300}
        role="img"
        aria-label="Image with the area to change painted over"
        onPointerDown={start}
        onPointerMove={move}
        onPointerUp={end}
        onPointerCancel={end}
      />
      <MaskArea tool={tool} onAdd={(area) => add({ tool, area })} />
      <Group justify="space-between" gap="sm">
        <Text size="sm" c="dimmed" maw={460}>
          The provider is asked to change only the painted areas. Some providers change the rest, too.
        </Text>
        <Group ml="auto">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={() => void done()}>Use mask</Button>
        </Group>
      </Group>
    </Stack>
  );
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
  if (context === null) throw new Error('This browser does not support painting masks.');
  return context;
}

function show(canvas: HTMLCanvasElement, image: ImageBitmap, strokes: readonly Stroke[]): void {
  const context = contextOf(canvas);
  context.clearRect(0, 0, image.width, image.height);
  context.drawImage(image, 0, 0);
  context.globalAlpha = SHOWN_STRENGTH;
  context.drawImage(paint(image, strokes), 0, 0);
  context.globalAlpha = 1;
}

/** Only the painted areas, on a transparent background. */
function paint({ width, height }: ImageBitmap, strokes: readonly Stroke[]): OffscreenCanvas {
  const layer = new OffscreenCanvas(width, height);
  const context = contextOf(layer);
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.strokeStyle = PAINT;
  context.fillStyle = PAINT;
  for (const stroke of strokes) {
    context.globalCompositeOperation = stroke.tool === 'eraser' ? 'destination-out' : 'source-over';
    if ('mask' in stroke) {
      context.drawImage(painted(stroke.mask, width, height), 0, 0);
      continue;
    }
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

/** Opaque black with transparent painted areas; without the image, so that the file is small. */
async function exportMask(image: ImageBitmap, strokes: readonly Stroke[]): Promise<Blob> {
  const mask = new OffscreenCanvas(image.width, image.height);
  const context = contextOf(mask);
  context.fillRect(0, 0, image.width, image.height);
  context.globalCompositeOperation = 'destination-out';
  context.drawImage(paint(image, strokes), 0, 0);
  return await mask.convertToBlob({ type: 'image/png' });
}
