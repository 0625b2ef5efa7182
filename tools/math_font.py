"""The font of the formulas: TeX Gyre Pagella Math, cut down to what a book of physics needs and mended for browsers.

    python tools/math_font.py texgyrepagella-math.otf lib/bookbuild/static/book-math.woff

The source is in Debian's package ``fonts-texgyre-math``. Five changes suit browsers:

- Chromium ignores the glyphs that the font offers for superscripts, so a prime would be tiny. The glyph for primes in
  superscripts replaces the plain one.
- Chromium reserves the width of the largest size of a bracket. The font keeps the first six sizes.
- Chromium prints cubic outlines as drawings, and not as text. The font has quadratic outlines.
- Browsers do not move a superscript away from a letter that leans over it, as TeX does. Three letters become wider, and
  the f, whose foot reaches under the letter before it, also begins further to the right.
- Browsers lower the subscript of a letter with a descender, and raise the superscript of a tall letter, where TeX sets
  those of all letters alike. The two drops are such that no letter does that; scripts of brackets still follow them.

The licence asks for a new name after a change: Book Math.
"""

import sys
from typing import Any

PRIMES = (0x2032, 0x2033, 0x2034)
SIZES = 6
WIDER = {0x1D453: 110, 0x1D701: 50, 0x1D709: 50}  # f, zeta, xi: thousandths of an em
FURTHER = {0x1D453: 70}
DROPS = {"SubscriptBaselineDropMin": -44, "SuperscriptBaselineDropMax": 430}
# The letters of formulas in all the alphabets in use, accents, punctuation, arrows and operators.
COVERED = [(0x20, 0x7E), (0xA0, 0xFF), (0x2C6, 0x2DC), (0x370, 0x3FF), (0x2000, 0x206F), (0x2100, 0x214F)]
COVERED += [
    (0x2190, 0x2199),
    (0x2200, 0x22FF),
    (0x2308, 0x230B),
    (0x27C2, 0x27C2),
    (0x27E8, 0x27EB),
    (0x1D400, 0x1D467),
]
COVERED += [(0x1D49C, 0x1D503), (0x1D538, 0x1D56B), (0x1D5A0, 0x1D5D3), (0x1D6A4, 0x1D71B)]


def make(source: str, target: str) -> None:
    """Write the font of the book."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(source)
    plain = font.getBestCmap()
    raised = {plain[letter]: f"{plain[letter]}.st" for letter in PRIMES}
    for table in font["cmap"].tables:
        table.cmap.update({letter: raised.get(glyph, glyph) for letter, glyph in table.cmap.items()})
    for letter, more in WIDER.items():
        width, left = font["hmtx"][plain[letter]]
        font["hmtx"][plain[letter]] = width + more, left
    for drop, value in DROPS.items():
        getattr(font["MATH"].table.MathConstants, drop).Value = value
    for sizes in font["MATH"].table.MathVariants.VertGlyphConstruction:
        sizes.MathGlyphVariantRecord = sizes.MathGlyphVariantRecord[:SIZES]
        sizes.GlyphVariantCount = len(sizes.MathGlyphVariantRecord)
    for name in font["name"].names:
        if name.nameID in (1, 3, 4, 6, 16):
            name.string = "BookMath-Regular" if name.nameID == 6 else "Book Math"
    options = Options(layout_features=["dtls", "flac", "kern"], hinting=False, name_IDs=["*"])
    options.drop_tables += ["FFTM"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[letter for first, last in COVERED for letter in range(first, last + 1)])
    subsetter.subset(font)
    use_quadratic_outlines(font)
    for letter, right in FURTHER.items():
        width, left = font["hmtx"][plain[letter]]
        font["glyf"][plain[letter]].coordinates.translate((right, 0))
        font["hmtx"][plain[letter]] = width + right, left + right
    font.flavor = "woff"
    font.save(target)


def use_quadratic_outlines(font: Any) -> None:
    """Replace the cubic outlines of a font by quadratic ones, to a thousandth of an em."""
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import newTable

    drawn, outlines = font.getGlyphSet(), {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        drawn[name].draw(Cu2QuPen(pen, max_err=1.0, reverse_direction=True))
        outlines[name] = pen.glyph()
    del font["CFF "]
    font["loca"], font["glyf"], limits = newTable("loca"), newTable("glyf"), font["maxp"]
    font["glyf"].glyphOrder, font["glyf"].glyphs = font.getGlyphOrder(), outlines
    limits.tableVersion, limits.maxZones = 0x00010000, 1
    for name in ("TwilightPoints", "Storage", "FunctionDefs", "InstructionDefs", "StackElements"):
        setattr(limits, f"max{name}", 0)
    limits.maxSizeOfInstructions = limits.maxComponentElements = 0
    font["post"].formatType, font["post"].extraNames, font["post"].mapping = 2.0, [], {}
    font.sfntVersion = "\x00\x01\x00\x00"


if __name__ == "__main__":
    make(*sys.argv[1:])
