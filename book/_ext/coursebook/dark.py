"""Figures for dark mode: a twin of each SVG in which black and white are exchanged and every colour keeps its hue.

A map of numbers (a Gram matrix, a landscape) keeps its colours, since its caption says what dark and pale mean, and is
dimmed, so that it does not glare; only the axes around it are recoloured.
"""

from __future__ import annotations

import base64
import colorsys
import io
import re
from functools import cache, lru_cache
from xml.etree import ElementTree

import numpy as np
from PIL import Image

GROUND = "#121212"  # the background of a page in dark mode
SHADES = {  # for the colours of kernelcourse.plots.PALETTE; figures to drag use the same shades for classes (lab.css)
    "#0072b2": "#56b4e9",
    "#d55e00": "#f08a3c",
    "#007a5a": "#3fc79c",
    "#a8487d": "#e58fbd",
    "#8a6100": "#d6a838",
    "#5c6670": "#a9b3bd",
    "#e69f00": "#f2b632",
    "#56b4e9": "#2b6a9b",
}
MESHES = {"QuadMesh", "QuadContourSet", "PolyQuadMesh"}
DIMMED = "0.8"  # the opacity of a map: its white becomes a light grey
DARKEST, LIGHTEST = 0.0706, 0.93  # the lightness of GROUND and of the ink
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
PNG = "data:image/png;base64,"
ElementTree.register_namespace("", SVG.strip("{}"))
ElementTree.register_namespace("xlink", LINK.strip("{}").removesuffix("}href"))


@cache
def shade(colour: str) -> str:
    """The colour that replaces a colour in dark mode: the same hue with reversed lightness."""
    if colour in SHADES:
        return SHADES[colour]
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = colorsys.hls_to_rgb(hue, LIGHTEST - (LIGHTEST - DARKEST) * lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in turned)


def darkened(svg: str) -> str:
    """The figure as it is shown in dark mode."""
    root = ElementTree.fromstring(svg)
    root.set("fill", "#000000")  # letters do not set a colour
    panels = [group for group in root.iter(f"{SVG}g") if group.get("id", "").startswith("axes_")]
    if any(map(_is_map, panels)):
        for axes in filter(_is_filled, panels):  # a colour bar, and a panel with few colours, go with their map
            _keep_inside(axes)
    _recolour(root)
    return ElementTree.tostring(root, encoding="unicode")


def _recolour(element: ElementTree.Element) -> None:
    if element.attrib.pop("kept", None):
        return
    for name in {"style", "fill", "stroke"} & element.attrib.keys():
        element.set(name, COLOUR.sub(lambda colour: shade(colour[0]), element.get(name, "")))
    if element.tag == f"{SVG}image" and not _is_opaque(element):
        _recolour_pixels(element)
    for child in element:
        _recolour(child)


@lru_cache(8)  # an image is examined three times
def _decoded(address: str) -> np.ndarray:
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(address.removeprefix(PNG)))).convert("RGBA"))
    pixels.flags.writeable = False
    return pixels


def _is_opaque(image: ElementTree.Element) -> bool:
    """Whether an image is a map and not a cloud of dots, or an area of one colour, that was drawn as an image."""
    pixels = _decoded(image.get(LINK, ""))
    solid = pixels[pixels[..., 3] == 255]
    return 2 * len(solid) > pixels[..., 3].size and bool((solid != solid[0]).any())


def _recolour_pixels(image: ElementTree.Element) -> None:
    pixels = _decoded(image.get(LINK, "")).copy()
    numbers = pixels[..., :3] @ np.array([1 << 16, 1 << 8, 1])
    colours, places = np.unique(numbers, return_inverse=True)
    turned = np.array([_rgb(_nearest(f"#{colour:06x}")) for colour in colours.tolist()], dtype=np.uint8)
    pixels[..., :3] = turned[places.reshape(numbers.shape)]
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png", optimize=True)
    image.set(LINK, PNG + base64.b64encode(file.getvalue()).decode())


def _rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@cache
def _nearest(colour: str) -> str:
    """The shade of a pixel, whose colour may differ by rounding from a colour of the palette."""
    for known, dark in SHADES.items():
        if max(abs(a - b) for a, b in zip(_rgb(colour), _rgb(known), strict=True)) <= 6:
            return dark
    return shade(colour)


def _is_filled(axes: ElementTree.Element) -> bool:
    names = [group.get("id", "").split("_")[0] for group in axes.iter(f"{SVG}g")]
    return next(axes.iter(f"{SVG}image"), None) is not None or not MESHES.isdisjoint(names)


def _is_map(axes: ElementTree.Element) -> bool:
    """Whether colours stand for numbers: an image, a mesh, or filled contours of several levels."""
    if any(_is_opaque(image) for image in axes.iter(f"{SVG}image")):
        return True
    for group in axes.iter(f"{SVG}g"):
        kind = group.get("id", "").split("_")[0]
        fills = {fill for path in group.iter() for fill in re.findall(r"fill: (#\w+)", path.get("style", ""))}
        if len(fills) > 2 and kind in MESHES:
            return True
    return False


def _keep_inside(axes: ElementTree.Element) -> None:
    """Mark what is drawn on a map: its colours were chosen to be visible there."""
    path = next(axes.iter(f"{SVG}path"), None)  # the background, unless the axes are off
    drawn = "" if path is None else path.get("d", "")
    corners = np.array(re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", drawn) or [(0, 0)], dtype=float)
    low, high = corners.min(axis=0), corners.max(axis=0)
    for child in axes:
        name = child.get("id", "")
        if name.startswith(("matplotlib.axis", "legend")) or _is_spine(child):
            continue
        if name.startswith("patch") and path in child:  # visible only where nothing was measured
            continue
        if next(child.iter(f"{SVG}image"), None) is not None or name.split("_")[0] in MESHES:
            child.set("opacity", DIMMED)
        if name.startswith("text"):
            place = next((g.get("transform", "") for g in child.iter(f"{SVG}g") if g.get("transform")), "")
            at = np.array(re.findall(r"[-\d.]+", place)[:2] or (0, 0), dtype=float)
        else:  # a black arrow may come from elsewhere; the tip of a colour bar is outside, too, but it has colours
            black = [path.get("d", "") for path in child.iter(f"{SVG}path") if "#000000" in path.get("style", "")]
            points = re.findall(r"([-\d.]+) ([-\d.]+)", " ".join(black)) if name.startswith("patch") else []
            at = np.array(points or [low], dtype=float).mean(axis=0)
        if (at < low - 1).any() or (at > high + 1).any():
            continue
        child.set("kept", "yes")
        child.set("fill", "#000000")


def _is_spine(group: ElementTree.Element) -> bool:
    styles = [path.get("style", "") for path in group.iter(f"{SVG}path")]
    return group.get("id", "").startswith("patch") and all("fill: none" in s and "square" in s for s in styles)
