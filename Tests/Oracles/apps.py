"""The files of a made-up app, on which the commands of the pages are run."""
import os
import plistlib
import shutil
import sqlite3
import zlib

from store import uri_path

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
# Made-up accounts may lack the teams that the model asks for; a mapping model's result may not.
LONELY = "DELETE FROM ZACCOUNT WHERE Z_PK NOT IN (SELECT ifnull(ZACCOUNT, 0) FROM ZTEAM)"


# A model as SwiftData makes one: composites, a unique attribute, a relationship without inverse.
DRINKS = """<?xml version="1.0" encoding="UTF-8"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"
       userDefinedModelVersionIdentifier="{version}">
  <entity name="Drink">
    <attribute name="author" optional="YES" attributeType="Composite" composite="Author"/>
    <attribute name="id" attributeType="UUID"/>{more}
    <relationship name="parts" optional="YES" toMany="YES" destinationEntity="Part"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="id"/></uniquenessConstraint>
    </uniquenessConstraints>
  </entity>
  <entity name="Part"><attribute name="name" optional="YES" attributeType="String"/></entity>
  <composite name="Author">
    <attribute name="id" optional="YES" attributeType="UUID"/>
    <attribute name="person" optional="YES" attributeType="String"/>
  </composite>
</model>
"""
NEWER = """<attribute name="year" attributeType="Integer 64" defaultValueString="0"/>"""


def drinks(tool, folder):
    """Stores of both versions, without their models: a full one and an empty one."""
    for version, more, rows, name in (("1.0.0", "", 200, "default.store"),
                                      ("2.0.0", NEWER, 0, "V2.store")):
        model = os.path.join(folder, "made.xcdatamodel")
        os.makedirs(model)
        with open(os.path.join(model, "contents"), "w", encoding="utf-8") as file:
            file.write(DRINKS.format(version=version, more=more))
        tool.run("generate", model, "--rows", rows, "--output", os.path.join(folder, name))
        shutil.rmtree(model)


class App:
    """The files of an app named Shop, made once and copied for each block."""

    def __init__(self, tool, folder, bundle, names, mapping=None, valid=None):
        self.folder = folder
        os.makedirs(os.path.join(folder, "maps"))
        os.makedirs(os.path.join(folder, "Fixtures"))
        model = os.path.join(folder, "Shop.xcdatamodeld")
        for old, new in names.items():
            shutil.copytree(os.path.join(bundle, old + ".xcdatamodel"),
                            os.path.join(model, new + ".xcdatamodel"))
        self.versions = list(names.values())
        with open(os.path.join(model, ".xccurrentversion"), "wb") as file:
            plistlib.dump({"_XCCurrentVersionName": self.versions[-1] + ".xcdatamodel"}, file)
        for store in ("Shop.sqlite", "Old.sqlite"):
            path = os.path.join(folder, store)
            tool.run("generate", model, "--version", self.versions[0], "--rows", 300,
                     "--output", path)
            if valid:
                db = sqlite3.connect(path)
                db.execute(valid)
                db.commit()
                db.close()
        for version in self.versions:
            tool.run("generate", model, "--version", version, "--rows", 40, "--output",
                     os.path.join(folder, "Fixtures", version + ".sqlite"))
        drinks(tool, folder)
        # The tutorial has its readers copy it.
        shutil.copytree(SAMPLE, os.path.join(folder, "Library.xcdatamodeld"))
        self._compile(tool, model)
        if mapping:
            for name in ("Shop.xcmappingmodel", "Shop3to4.xcmappingmodel"):
                shutil.copytree(mapping, os.path.join(folder, name))
        between = [os.path.join(model, v + ".xcdatamodel") for v in self.versions[-2:]]
        tool.run("map", "--from", between[0], "--to", between[1], "--output",
                 os.path.join(folder, "maps", "Shop3to4.json"))

    def _compile(self, tool, model):
        """The bundle as the app would ship it: a store's model cache is a compiled model."""
        bundle = os.path.join(self.folder, "Shop.momd")
        os.makedirs(bundle)
        for version in self.versions:
            made = os.path.join(self.folder, "made.sqlite")
            tool.run("generate", model, "--version", version, "--rows", 0, "--output", made)
            db = sqlite3.connect(f"file:{uri_path(made)}?mode=ro", uri=True)
            cache = db.execute("select Z_CONTENT from Z_MODELCACHE").fetchone()[0]
            db.close()
            with open(os.path.join(bundle, version + ".mom"), "wb") as file:
                file.write(zlib.decompress(cache, -15))
            os.remove(made)
        with open(os.path.join(bundle, "VersionInfo.plist"), "wb") as file:
            plistlib.dump({"NSManagedObjectModel_CurrentVersionName": self.versions[-1]}, file)

    def copy(self, folder):
        shutil.copytree(self.folder, folder, symlinks=True)
        return folder


def apps(tool, corpus, scratch):
    """The sample as somebody's app; and one of Apple's mapping models with its versions."""
    names = {"Library 1": "Shop 2", "Library 2": "Shop 3", "Library 3": "Shop 4"}
    made = [App(tool, os.path.join(scratch, "sample"), SAMPLE, names)]
    real = os.path.join(corpus or "", "mappings", "altstore")
    if corpus and os.path.isdir(real):
        names = {"AltStore 8": "Shop 3", "AltStore 9": "Shop 4"}
        made.append(
            App(tool, os.path.join(scratch, "real"), os.path.join(real, "AltStore.xcdatamodeld"),
                names, os.path.join(real, "AltStore8ToAltStore9.xcmappingmodel"), LONELY))
    return made
